-- Puts a Lua interpreter to work: strings, tables, closures, coroutines, metatables, errors, and the collector.
local out = {}
local function say(...)
  local words = table.pack(...)
  for i = 1, words.n do words[i] = tostring(words[i]) end
  out[#out + 1] = table.concat(words, " ")
end

-- Strings: buffers, patterns, formats.
local text = ("the quick brown fox "):rep(50)
say(#text, text:gsub("%w+", function(word) return word:reverse() end):sub(1, 40))
say(string.format("%5.2f|%-8s|%08x|%q", math.pi, "left", 48879, 'a "quoted"\nline'))
local words = {}
for word in text:gmatch("%a+") do words[word] = (words[word] or 0) + 1 end
for _, word in ipairs { "brown", "fox", "quick", "the" } do say(word, words[word]) end

-- Tables: growth of both parts, sorting, removal, unpacking.
local numbers = {}
for i = 1, 2000 do numbers[i] = (i * 7919) % 2003 end
table.sort(numbers, function(a, b) return a > b end)
say(numbers[1], numbers[1000], numbers[2000], select("#", table.unpack(numbers, 1, 200)))
local keyed = {}
for i = 1, 2000 do keyed["key" .. i] = { i } end
for i = 1, 2000, 3 do keyed["key" .. i] = nil end
local sum = 0
for _, value in pairs(keyed) do sum = sum + value[1] end
say(sum)

-- Closures and recursion.
local function counter(step)
  local n = 0
  return function() n = n + step; return n end
end
local by_two, by_five = counter(2), counter(5)
for _ = 1, 100 do by_two(); by_five() end
say(by_two(), by_five())
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
say(fib(20))

-- Coroutines, also inside each other and with errors.
local function permutations(list, n)
  n = n or #list
  if n <= 1 then coroutine.yield(table.concat(list, ",")) end
  for i = 1, n do
    list[n], list[i] = list[i], list[n]
    permutations(list, n - 1)
    list[n], list[i] = list[i], list[n]
  end
end
local count, last = 0, nil
for permutation in coroutine.wrap(function() permutations { 1, 2, 3, 4, 5 } end) do count, last = count + 1, permutation end
say(count, last)
say(tostring(select(2, pcall(coroutine.wrap(function() error("inside", 0) end)))))

-- Metatables, weak tables and finalizers.
local Vector = {}
Vector.__index = Vector
Vector.__add = function(a, b) return setmetatable({ x = a.x + b.x }, Vector) end
Vector.__tostring = function(v) return "<" .. v.x .. ">" end
local total = setmetatable({ x = 0 }, Vector)
for i = 1, 500 do total = total + setmetatable({ x = i }, Vector) end
say(tostring(total))
local finalized, weak = 0, setmetatable({}, { __mode = "k" })
for i = 1, 300 do weak[setmetatable({}, { __gc = function() finalized = finalized + 1 end })] = i end
collectgarbage()
collectgarbage()
say(finalized, next(weak) == nil)

-- The incremental and the generational collector under load; compiling at run time; errors with tracebacks.
for _, mode in ipairs { "incremental", "generational" } do
  collectgarbage(mode)
  local list
  for i = 1, 20000 do list = { next = i % 100 ~= 0 and list or nil, "item " .. i } end
  say(mode, list[1])
end
local made = {}
for i = 1, 50 do made[i] = assert(load("local x = ... return x * " .. i .. " + #'" .. ("z"):rep(i) .. "'"))(i) end
say(table.concat(made, " "))
say((select(2, xpcall(function() local t = nil; return t.field end, function(message) return debug.traceback(message) end))
  :gsub("\n.*", "")))

print(table.concat(out, "\n"))
