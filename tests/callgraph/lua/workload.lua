-- Every library of Lua at work, and every way from the interpreter's own C functions into the collector that a script
-- can take: allocation in each of them, callbacks (comparators, replacements, readers, hooks), metamethods, finalizers,
-- to-be-closed variables, coroutines, errors in each of these, and recursion up to the limits.
--
--   lua workload.lua MODE ROUNDS      MODE: incremental (a step at every check) | generational | short (an outer force
--                                     makes allocations fail) ; prints one line for each part, the same in each mode
local mode, rounds = ...
rounds = tonumber(rounds)
local folder = os.getenv("TMPDIR") or "."
local parts = {}
local checks = 0

local function check(condition, ...)
  checks = checks + 1
  if not condition then error("check failed: " .. table.concat({ ... }, " "), 2) end
  return condition, ...
end

local function fails(pattern, f, ...)
  local ok, message = pcall(f, ...)
  check(not ok and tostring(message):find(pattern), pattern, "expected, not", tostring(message):sub(1, 200))
end

local function part(name, f) parts[#parts + 1] = { name = name, run = f } end

part("strings", function(round)
  local text = ("the quick brown fox " .. round):rep(20, "-")
  check(#text > 400 and text:upper():lower():reverse():len() == #text)
  check(text:gsub("%w+", function(word) return { word } and word:reverse() end):find("kciuq"))
  check(text:gsub("%w+", { the = "a" .. round, fox = false }):find("^a"))
  check(text:gsub("(%w)(%w)", "%2%1%%%0"))
  check(("x"):gsub("", "ab") == "abxab")
  fails("invalid replacement value", string.gsub, "x", "x", function() return {} end)
  fails("invalid use of '%%'", string.gsub, "x", "x", "%z")
  fails("pattern too complex", string.match, ("x"):rep(300000), (".-"):rep(250000) .. "y")
  fails("malformed pattern", string.find, "a", "[a")
  check(("key = value"):match("^(%w+)%s*=%s*(%w+)$") == "key")
  check(("f(a(b)c)d"):match("%b()") == "(a(b)c)" and ("THE (quick) fox"):find("%f[%a]%a+%f[%A]") == 1)
  check(select("#", ("abc"):byte(1, -1)) == 3 and string.char(("abc"):byte(1, -1)) == "abc")
  local words = {}
  for a, b in text:gmatch("(%a+) (%a+)") do words[#words + 1] = a .. b end
  for position in ("abc"):gmatch("()") do words[#words + 1] = position end
  check(string.format("%5.2f|%-8s|%08x|%q|%a|%i|%c|%p|%s", math.pi, "left", 48879, 'a "q"\n\0\200', 1.5, 3, 65, words,
    setmetatable({}, { __tostring = function() return "made " .. round end })):find("made"))
  check(string.format("%q %q %q %q", 1 / 3, math.mininteger, 0 / 0, 1 / 0):find("1e9999"))
  check(string.format("%s %.20s %99.99f", ("long"):rep(100), ("cut"):rep(100), 1e100))
  fails("bad argument", string.format, "%d", 1.5)
  fails("invalid conversion", string.format, "%y", 1)
  fails("'__tostring' must return a string", tostring, setmetatable({}, { __tostring = function() return {} end }))
  fails("resulting string too large", string.rep, "x", 1 << 60, "y")
  local packed = string.pack(">i4 z s2 d n B !8 i8 f j T Xi4", -7, "zero", "counted", 1.25, 2.5, 200, 77, 0.5, 5, 6)
  check(#packed == select(-1, string.unpack(">i4 z s2 d n B !8 i8 f j T Xi4", packed)) - 1)
  check(string.packsize("<i3 !4 i4") == 8)
  fails("too short", string.unpack, "i8", "x")
  check("10" + 5 == 15 and 10 .. 20 == "1020" and "0x10" * 2 == 32 and -"2" == -2 and "7" // "2" == 3 and "2" ^ 2 == 4)
  fails("attempt to add a .string. with a .number.", function() return "x" + 1 end)
  fails("concatenate a table value %(local 't'%)", function() local t = {} return "x" .. t end)
  check(("a"):rep(30) .. round .. ("b"):rep(50) .. 1.5 < "b" and not ("a\0b" < "a\0a") and "Z" <= "a")
  local long = {}
  for i = 1, 60 do long[i] = ("piece " .. i):rep(10) end
  check(#table.concat(long, ", ", 2, 59) > 3000)
end)

part("tables", function(round)
  local numbers = {}
  for i = 1, 300 do numbers[i] = (i * 7919 + round) % 2003 end
  table.sort(numbers)
  table.sort(numbers, function(a, b) return #{ a } == 1 and a > b end)
  check(numbers[1] >= numbers[2])
  fails("invalid order function", table.sort, { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 }, function() return { true } end)
  fails("compare", table.sort, { 1, "a", {} })
  fails("wrong number of arguments", table.insert, {}, 1, 2, 3)
  fails("out of bounds", table.insert, {}, 5, 2)
  fails("invalid value", table.concat, { {} })
  fails("too many results", table.unpack, {}, 1, 1e7)
  local keyed = {}
  for i = 1, 200 do keyed["key" .. i] = { i } keyed[i] = i keyed[i + 0.5] = i keyed[-i] = "n" keyed[{}] = i end
  for key in pairs(keyed) do if type(key) == "string" then keyed[key] = nil end end
  for i = 1, 200 do keyed["other" .. i .. ("k"):rep(41)] = i end
  fails("index is nil", function() keyed[nil] = 1 end)
  fails("index is NaN", function() keyed[0 / 0] = 1 end)
  fails("invalid key to 'next'", next, {}, "none")
  local log = {}
  local proxy = setmetatable({}, {
    __index = function(_, key) log[#log + 1] = { key } return type(key) == "number" and key <= 5 and "v" .. key or nil end,
    __newindex = function(t, key, value) log[#log + 1] = { key, value } rawset(t, key, value) end,
    __len = function() return #{ 1, 2, 3, 4, 5 } end,
    __pairs = function(t) return function(_, key) key = (key or 0) + 1 if key < 4 then return key, { key } end end, t, nil end,
  })
  check(table.concat(proxy, ",") == "v1,v2,v3,v4,v5")
  check(#table.move(proxy, 1, 5, 2) == 5 and table.unpack(proxy, 1, 2))
  table.insert(proxy, "more") table.remove(proxy, 1) table.sort(proxy)
  local seen = 0
  for _, value in pairs(proxy) do seen = seen + #value end
  check(seen == 3 and table.pack(1, nil, 3).n == 3 and rawlen({ 1, 2 }) == 2 and rawequal(log, log))
  local queue = {}
  for i = 1, 100 do table.insert(queue, 1, { i }) table.insert(queue, { i }) end
  while #queue > 0 do table.remove(queue) table.remove(queue, 1) end
  local weak = { setmetatable({}, { __mode = "k" }), setmetatable({}, { __mode = "v" }), setmetatable({}, { __mode = "kv" }) }
  for i = 1, 50 do for _, t in ipairs(weak) do t[{ i }] = { i } t[i] = {} t["s" .. i] = "s" .. i end end
  collectgarbage() collectgarbage()
  check(next(weak[3]) ~= nil)
end)

part("metamethods", function(round)
  local made = 0
  local class = {}
  class.__index = class
  local function new(x) made = made + 1 return setmetatable({ x = x, name = "n" .. x }, class) end
  for _, event in ipairs { "add", "sub", "mul", "div", "mod", "pow", "idiv", "band", "bor", "bxor", "shl", "shr", "concat" } do
    class["__" .. event] = function(a, b) return new((type(a) == "table" and a.x or #tostring(a)) + (type(b) == "table" and b.x or 1)) end
  end
  for _, event in ipairs { "unm", "bnot" } do class["__" .. event] = function(a) return new(a.x) end end
  class.__len = function(a) return new(a.x) end
  class.__call = function(self, ...) return new(select("#", ...)), self, ... end
  class.__eq = function(a, b) return new(a.x).x == b.x end
  class.__lt = function(a, b) return new(type(a) == "table" and a.x or a).x < (type(b) == "table" and b.x or b) end
  class.__le = function(a, b) return new(type(a) == "table" and a.x or a).x <= (type(b) == "table" and b.x or b) end
  class.__tostring = function(a) return "<" .. a.x .. ">" end
  class.__name = "Class"
  class.__close = function(a, problem) made = made + #{ a, problem } end
  local a, b = new(1), new(2)
  local _ = a + b, a - 1, 2 * b, a / b, a % b, a ^ 2, a // b, a & b, 1 | a, a ~ b, a << 1, a >> 1, a .. "x", "x" .. a, -a, ~a, #a
  _ = a + 1.5, 1.5 - a, a .. b .. "s" .. 1, a(1, 2, 3), a == b, a < b, a <= b, a < 3, 3 <= a, tostring(a), a.name, a.missing
  for i = 1, 20 do local c <close> = new(i) if i == 15 then break end end
  fails("closed here", function() local c <close> = new(1) error("closed here") end)
  fails("second", function()
    local c <close> = setmetatable({}, { __close = function(_, problem) check(problem:find("first")) error("second") end })
    error("first")
  end)
  fails("got a non%-closable value", function() local c <close> = {} end)
  fails("attempt to call a nil value %(field 'nothing'%)", function() a.nothing() end)
  fails("attempt to index a number value", function() local n = 1 return n.x.y end)
  fails("attempt to compare", function() return {} < {} end)
  fails("number has no integer representation", function() return 1.5 | 1 end)
  fails("zero", function() return 1 // 0 end)
  fails("'__index' chain too long", function()
    local t = {} setmetatable(t, { __index = t }) return t.x
  end)
  for _, event in ipairs { "__index", "__newindex" } do
    fails("stack overflow", function()
      local t = setmetatable({}, {})
      getmetatable(t)[event] = function(self, key) if event == "__index" then return self[key .. "x"] end self[key .. "x"] = 1 end
      t.y = t.x
    end)
  end
  check(getmetatable("").__index == string and getmetatable(setmetatable({}, { __metatable = "locked" })) == "locked")
  fails("cannot change a protected metatable", setmetatable, setmetatable({}, { __metatable = 1 }), {})
  debug.setmetatable(1, { __index = function(n, key) return { n, key } end, __call = function(n) return { n } end })
  check((5).field[2] == "field" and (5)()[1] == 5)
  debug.setmetatable(1, nil)
  local finalized = 0
  for i = 1, 40 do
    setmetatable({}, { __gc = function() finalized = finalized + #{ i } if i % 10 == 0 then error("in __gc " .. i) end end })
  end
  warn("@off")
  collectgarbage() collectgarbage()
  check(finalized == 40 or mode == "short")
  warn("@on") warn("@off", "") warn("round ", tostring(round))
  local revived
  setmetatable({ 1 }, { __gc = function(o) revived = setmetatable(o, getmetatable(o)) end })
  collectgarbage()
  check((revived or mode == "short") and made > 30)
end)

part("coroutines", function(round)
  local function permutations(list, n)
    if n == 1 then coroutine.yield(table.concat(list, ",")) return end
    for i = 1, n do
      list[n], list[i] = list[i], list[n]
      permutations(list, n - 1)
      list[n], list[i] = list[i], list[n]
    end
  end
  local count = 0
  for _ in coroutine.wrap(function() permutations({ 1, 2, 3, 4 }, 4) end) do count = count + 1 end
  check(count == 24)
  local metatable = { __add = function(a, b) return coroutine.yield { a, b } end, __index = function(_, k) return coroutine.yield(k .. "!") end,
    __lt = function() return coroutine.yield { "lt" } end, __concat = function() return coroutine.yield { "cat" } end,
    __eq = function() return coroutine.yield { "eq" } end, __call = function(_, x) return coroutine.yield { x } end,
    __newindex = function(_, k, v) coroutine.yield { k, v } end, __len = function() return coroutine.yield { "len" } end,
    __close = function() coroutine.yield { "close" } end, __unm = function() return coroutine.yield { "unm" } end }
  local co = coroutine.create(function(...)
    local t, u <close> = setmetatable({}, metatable), setmetatable({}, metatable)
    local r = { ..., t + 1, t.field, t < t, "x" .. t .. "y", t == setmetatable({}, metatable), t(5), #t, -t }
    t.set = { 1 }
    local ok, message = pcall(function() local a = coroutine.yield { "in pcall" } error { a } end)
    check(not ok and type(message) == "table")
    xpcall(function() coroutine.yield { "in xpcall" } error("x") end, function(m) return { debug.traceback(m) } end)
    table.sort({ 3, 2, 1 }, function(a, b) return a < b end)
    for a in function(_, c) return coroutine.yield { c } end do r[#r + 1] = a if #r > 15 then break end end
    return table.unpack(r)
  end)
  local steps = 0
  while coroutine.status(co) ~= "dead" do
    local ok, value = coroutine.resume(co, steps)
    check(ok, tostring(value))
    steps = steps + 1
  end
  check(steps > 15)
  fails("cannot resume dead coroutine", coroutine.wrap(function() error("cannot resume dead coroutine") end))
  fails("attempt to yield from outside", coroutine.yield)
  fails("attempt to yield across a C%-call boundary", coroutine.wrap(function()
    return table.sort({ 3, 2, 1 }, function() coroutine.yield() return false end)
  end))
  local closing = coroutine.create(function() local c <close> = setmetatable({}, { __close = function() error({ "in close" }) end }) coroutine.yield() end)
  coroutine.resume(closing)
  check(not coroutine.close(closing) and coroutine.isyieldable() == false and select(2, coroutine.running()))
  local function nest(n) return n == 0 and #{} or coroutine.wrap(function() return nest(n - 1) + #{ n } end)() end
  check(nest(60) == 60)
  fails("C stack overflow", nest, 300)
  local many = {}
  for i = 1, 50 do many[i] = coroutine.wrap(function(...) local t = { ... } while true do t = { coroutine.yield(t) } end end) many[i](i) end
  check(debug.traceback(co) and coroutine.resume(coroutine.create(load), "return 1"))
end)

part("errors and recursion", function(round)
  collectgarbage("incremental", 200, 200, 13) -- each step walks stacks that are a million values deep here
  local function depth(n) return n == 0 and 0 or 1 + depth(n - 1) end
  check(depth(5000) == 5000)
  local function forever(n) return { forever(n + 1) } end
  local overflow = mode == "short" and function() end or fails -- a full collection every few levels would take hours
  overflow("stack overflow", forever, 1)
  overflow("stack overflow", function() local function f(...) local t = f(1, ...) return t end f() end)
  local function loop(n) if n > 0 then return loop(n - 1) end return { n } end
  check(#loop(10000) == 1)
  fails("C stack overflow", function() local function f(s) return (s:gsub(".", f)) end return f("x") end)
  fails("C stack overflow", function() error(select(2, load("return " .. ("("):rep(1000)))) end)
  overflow("stack overflow", function() error(select(2, xpcall(forever, function(m) return debug.traceback(m, 1) end, 1))) end)
  check(not xpcall(function() error() end, function(m) error { m } end))
  check(select(2, pcall(error)) == nil and select(2, pcall(error, setmetatable({}, { __tostring = function() return "t" end }))) ~= nil)
  fails("assertion failed!", assert, false)
  fails("message " .. round, assert, nil, "message " .. round)
  string.insert = table.insert
  fails("calling 'insert' on bad self", function() local _ = ("x"):insert() end)
  string.insert = nil
  fails("bad argument #1 to 'ipairs'", function() ipairs() end)
  fails("number expected, got no value", math.floor)
  fails("global 'undefined'", function() undefined() end)
  fails("upvalue 'rounds'", function() rounds.x.y = 1 end)
  fails("method 'nothing'", function() (""):nothing() end)
  fails("for iterator 'for iterator'", function() for _ in 5 do end end)
  fails("'for' initial value", function() for _ = {}, 1 do end end)
  fails("'for' step is zero", function() for _ = 1, 2, 0 do end end)
  for i = 1.0, 2.0, 0.25 do check(i) end
  for i = math.maxinteger - 1, math.maxinteger do check(i) end
  do local i = 1 ::again:: if i < 20 then i = i + #{ i } goto again end end
end)

part("load", function(round)
  local pieces, at = { "local a <const>, b = ... ", "local function f(...) return {...}, #'", ("z"):rep(round), "' end ",
    "for i = 1, 3 do a = a .. i end ", "return f(a, b), function() return f, a, _ENV end" }, 0
  local chunk = check(load(function() at = at + 1 return pieces[at] end, "=pieces", "t", setmetatable({}, { __index = _G })) == nil)
  pieces[1], at = "local a, b = ... ", 0
  chunk = assert(load(function() at = at + 1 return pieces[at] end, "=pieces", "t", { __index = _G }))
  check(#chunk("x", 2) == 2)
  local binary = string.dump(chunk)
  check(#string.dump(chunk, true) < #binary and load(binary, "b", "b")("y", 1))
  local position = 0
  check(load(function() position = position + 1 return position <= #binary and binary:sub(position, position) or nil end, "bytes", "b"))
  fails("unable to dump", string.dump, print)
  check(not load(binary, "b", "t") and not load(binary:sub(1, -20)) and not load("\27Lua"))
  for _, source in ipairs { "x = = 1", "goto nowhere", "for", "local x <what> = 1", "break", "return '\\q'", "x = 'abc", "--[[ abc", "x = [==[ abc",
    "return '\\u{110000000}'", "x = 1e", "local a <const> = 1; a = 2", "::a:: ::a::", "return 0x", "f(", "'\\300'", "x = }", ("local a;"):rep(201),
    "return function() return function() return " .. ("a"):rep(100) .. " + " } do
    local ok, message = load(source)
    check(not ok and message)
  end
  fails("reader function must return a string", function() error(select(2, load(function() return {} end))) end)
  fails("in reader", function() error(select(2, load(function() error("in reader") end))) end)
  local constants = {}
  for i = 1, 300 do constants[i] = ("'c%d', %d.5, function(x) return x + %d end"):format(i, i, i) end
  check(#load("return {" .. table.concat(constants, ",") .. "}")() == 900)
  check(load("local t = {} for i = 1, 10 do t[#t + 1] = function() i = i + 1 return i end end return t[3]() + t[3]()")() == 9)
  check(load([[return "\x41\u{20AC}\z
    \065\n\\", 0x1p4, 1e2, .5, 3 // 2, 7 % -3, ~5, 1 << 62, "a" .. 1 .. 2 --[==[ comment ]==] ]])() )
  local name = folder .. "/chunk.lua"
  local file = assert(io.open(name, "w"))
  file:write("#!shebang\nlocal a = ... return {a, 'file'}\n"):close()
  check(loadfile(name, "t", {})(1)[2] == "file" and dofile(name)[2] == "file")
  check(not loadfile(folder .. "/none.lua"))
  package.path = folder .. "/?.lua;" .. folder .. "/?/init.lua"
  package.loaded.chunk = nil
  check(require("chunk")[1] == "chunk" and require("chunk") == package.loaded.chunk)
  fails("module 'absent' not found", require, "absent")
  package.preload.given = function(...) return { ... } end
  package.loaded.given = nil
  check(require("given")[1] == "given" and package.searchpath("none", "./?.x;./?.y") == nil)
  check(not package.loadlib(folder .. "/none.so", "*") and not package.loadlib(folder .. "/none.so", "luaopen_none"))
  table.insert(package.searchers, 1, function(n) return n == "found" and function(...) return { ... } end or "\n\tnot by me" end)
  package.loaded.found = nil
  check(require("found")[1] == "found")
  table.remove(package.searchers, 1)
  os.remove(name)
end)

part("io and os", function(round)
  local name = folder .. "/data.txt"
  local file = assert(io.open(name, "w+"))
  check(file:setvbuf("full", 1024) and file:setvbuf("no") and file:setvbuf("line"))
  for i = 1, 40 do file:write("line ", i, " ", i / 4, "\n", ("x"):rep(i * 10), "\n") end
  check(file:seek("set", 0) == 0 and file:read("l", "L", "n") == "line 1 0.25")
  check(file:seek("end") > 1000 and file:read("a") == "" and file:read("l") == nil)
  file:close()
  fails("closed file", file.read, file)
  check(tostring(file) == "file (closed)" and io.type(file) == "closed file" and io.type(io.stdout) == "file" and io.type(1) == nil)
  local lines = 0
  for line, rest in io.lines(name, "L", 3) do lines = lines + #{ line, rest } end
  for line in io.lines(name) do lines = lines + #line end
  check(lines > 1000)
  fails("No such file", io.lines, folder .. "/none")
  check(select(2, io.open(folder .. "/none")):find("No such file"))
  fails("invalid mode", io.open, name, "rz")
  do local f <close> = assert(io.open(name)) check(f:read(5) == "line " and f:read(0) == "" and f:read("n") == 1) for l in f:lines("n") do check(l) end end
  io.output(name) io.write("0x1Fp3 -12 1e5 nan .5e-3 ", ("9"):rep(250), "\n") io.close()
  io.input(name)
  check(io.read("n", "n", "n") == 248 and io.read("n") == nil)
  io.close(io.input()) io.input(io.stdin) io.output(io.stdout)
  local temporary = io.tmpfile() temporary:write("t" .. round) temporary:seek("set") check(temporary:read("a") == "t" .. round)
  for i = 1, 10 do local dropped = io.tmpfile() dropped:write(i) end
  temporary = nil
  collectgarbage()
  local pipe = io.popen("echo from the shell; exit 3")
  check(pipe:read("a") == "from the shell\n" and select(3, pipe:close()) == 3)
  check(os.rename(name, name .. "2") and os.remove(name .. "2") and not os.remove(name))
  check(#os.date() > 5 and os.date("*t", 0).year and os.date("!%Y-%m-%d %H:%M:%S", 86400) == "1970-01-02 00:00:00")
  check(os.time { year = 2020, month = 14, day = -3, hour = 12 } > 0 and os.difftime(os.time(), os.time()) <= 0 and os.clock() >= 0)
  fails("invalid conversion", os.date, "%Ez")
  fails("field 'month' missing", os.time, { year = 2000 })
  check(os.getenv("PATH") and os.getenv("NONE_SUCH") == nil and os.setlocale("C") == "C" and os.execute() and select(3, os.execute("exit 2")) == 2)
  local unique = os.tmpname() os.remove(unique)
  io.stderr:write("") print("io", round) io.stdout:flush()
end)

part("math and utf8", function(round)
  check(math.type(1) == "integer" and math.type(1.0) == "float" and math.type("1") == nil and math.tointeger("8") == (math.tointeger("8")))
  check(math.max(1, 2.5) == 2.5 and math.min(3, 1) == 1 and math.ult(1, -1) and math.abs(-5) == 5 and math.fmod(-6, 4) == -2 and math.fmod(6.5, 4) == 2.5)
  check(math.floor(1.5) == 1 and math.ceil(1.5) == 2 and math.sqrt(4) == 2 and math.exp(0) == 1 and math.log(8, 2) == 3 and math.log(100, 10) == 2 and math.modf(3.25) == 3)
  check(math.sin(0) == 0 and math.cos(0) == 1 and math.tan(0) == 0 and math.asin(0) == 0 and math.acos(1) == 0 and math.atan(0, 1) == 0 and math.deg(0) == 0 and math.rad(0) == 0)
  math.randomseed(round) math.randomseed(round, 2)
  for i = 1, 20 do check(math.random(i) <= i and math.random() < 1 and math.random(-i, i) <= i and math.random(0)) end
  fails("interval is empty", math.random, 0, -1)
  check(tonumber("ff", 16) == 255 and tonumber("z", 36) == 35 and tonumber("8", 8) == nil and tonumber(" 0x.8p1 ") == 1.0 and tonumber("1e1") == 10.0 and tonumber("x") == nil)
  check(tostring(1e15) == "1e+15" and tostring(-0.0) == "-0.0" and tostring(2 ^ 63) == "9.2233720368548e+18" and math.maxinteger + 1 == math.mininteger)
  check(7 // 0.0 == math.huge and -7 // 2 == -4 and -7 % 3 == 2 and 5.5 % -2 == -0.5 and 1 << 64 == 0 and 3 | 4.0 == 7)
  local euro = utf8.char(0x20AC, 0x41, 0x10FFFF, 0x7FFFFFFF, 0xE9)
  check(utf8.len(euro, 1, -1, true) == 5 and utf8.codepoint(euro, 1, 4) == 0x20AC and utf8.offset(euro, 3) == 5)
  for position, code in utf8.codes("aé€") do check(position and #utf8.char(code) >= 1) end
  check(utf8.len("\xff") == nil and ("aé€"):gsub(utf8.charpattern, function(c) return "<" .. c .. ">" end))
  fails("invalid UTF%-8", function() for _ in utf8.codes("\xff") do end end)
  fails("out of bounds", utf8.codepoint, "a", 5)
end)

part("debug", function(round)
  local events = {}
  for _, mask in ipairs { "c", "r", "l", "crl", "" } do
    debug.sethook(function(event, line)
      local info = debug.getinfo(2, "nSlutfrL")
      if #events < 500 then events[#events + 1] = { event, line, info.name, info.short_src } end
    end, mask, mask == "" and 7 or 0)
    local function traced(a, ...) local t = { a, ... } for i = 1, 3 do t[#t + 1] = ("s" .. i):rep(2) end return #t end
    pcall(traced, 1, 2, 3)
    pcall(string.gsub, "abc", ".", function(c) return c .. c end)
    coroutine.wrap(function() return traced(coroutine.yield or 1) end)()
    check(debug.gethook())
    debug.sethook()
  end
  check(#events > 50)
  local co = coroutine.create(function(x) local local_one, two = { x }, 2 coroutine.yield(local_one, two) end)
  coroutine.resume(co, round)
  debug.sethook(co, function() events[#events + 1] = {} end, "l")
  check(debug.getlocal(co, 1, 1) == "x" and debug.setlocal(co, 1, 2, { "other" }) == "local_one" and debug.traceback(co, "m", 0) and debug.getinfo(co, 1, "f"))
  coroutine.resume(co)
  local function upvalues() return round, events, co end
  local function others() return parts, checks end
  check(debug.getupvalue(upvalues, 1) == "round" and debug.setupvalue(upvalues, 1, round) == "round")
  check(debug.upvalueid(upvalues, 1) ~= debug.upvalueid(others, 1))
  debug.upvaluejoin(others, 1, upvalues, 2)
  check(others() == events and debug.getlocal(function(a, b, ...) end, 2) == "b" and debug.getinfo(print, "S").what == "C")
  check(debug.getregistry()[2] == _G and debug.getmetatable("").__index and debug.getuservalue(io.stdout, 1) == nil and debug.setuservalue(io.stdout, 1, 1) == nil)
  check((function(...) return debug.getlocal(1, -1) end)(5) == "(vararg)")
  fails("invalid option", debug.getinfo, 1, ">X")
  fails("level out of range", debug.getlocal, 1000, 1)
  local function deep(n) if n > 0 then local text = deep(n - 1) return text end return debug.traceback("deep", 1) end
  check(deep(40):find("%.%.%."))
end)

part("memory", function(round)
  for _, kind in ipairs { "incremental", "generational" } do
    collectgarbage(kind)
    local list
    for i = 1, 3000 do list = { next = i % 100 ~= 0 and list or nil, "item " .. i } end
    collectgarbage("step", 1) collectgarbage("step", 0)
    local old = {}
    for i = 1, 200 do old[i] = { i } end
    collectgarbage()
    for i = 1, 200 do old[i].young = { setmetatable({}, { __mode = "k", __gc = function() local _ = { i } end }) } end
  end
  collectgarbage("stop") check(not collectgarbage("isrunning")) collectgarbage("restart")
  check(collectgarbage("count") > 0)
  fails("not enough memory", string.rep, "x", (1 << 31) - 100)
  local big = {}
  for i = 1, 2000 do big[i] = i end
  for i = 1, 2000 do big[i] = nil end
  check(next(big) == nil)
end)

-- In every round the collector is set so that it runs at nearly each allocation, and the rounds differ.
for round = 1, rounds do
  for _, p in ipairs(parts) do
    if mode == "generational" then
      collectgarbage("generational", 1 + round % 20, 10)
    else
      collectgarbage("incremental", mode == "short" and 200 or 10, 100 * round, mode == "short" and 13 or round % 4)
    end
    local ok, message = pcall(p.run, round)
    if not ok and mode ~= "short" then error(message, 0) end -- luaD_shrinkstack and others do without memory they can't have
    if round == rounds then print(p.name, "ok") end
  end
end
print("all parts ran")
setmetatable({}, { __gc = function() print("closed with the state", #{ 1, "a" .. mode }) end })
