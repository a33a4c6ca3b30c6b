# Some of each part of awk.
function add(a, b) { return a + b }
function walk(list, k, text) { for (k in list) text = text (isarray(list[k]) ? walk(list[k]) : k "=" list[k] ";"); return text }
BEGIN {
  for (i = 1; i <= 40; i++) words[i] = sprintf("%05d %s", i * 7 % 13, "k" i)
  n = asort(words)
  print n, length(words[1]), substr(words[n], 2, 4), index(words[2], "k"), toupper(words[3]), tolower("ABC")
  print gensub(/(a+)b/, "<\\1>", "g", "aaabab"), match("foobar", /(o+)b/, found), found[1]
  "date +%Y" | getline year
  close("date +%Y")
  print year > 2000, strftime("%Y", 0, 1), mktime("2020 01 01 00 00 00") > 0
  print split("a:b:c", parts, ":"), patsplit("1x22x333", parts, /[0-9]+/), parts[3]
  printf "%s %d %x %o %e %g %c %5.1f|%-5s|\n", "a", 3, 255, 8, 1.5, 0.25, 65, 2.25, "x"
  PROCINFO["sorted_in"] = "@val_num_desc"
  nested["a"]["b"] = 1; nested["a"]["c"] = 2; nested["d"] = 3
  print walk(nested), typeof(nested), typeof(nested["d"]), isarray(nested["a"])
  name = "add"; print @name(1, 2)
  print and(5, 3), or(5, 3), xor(5, 3), lshift(1, 3), rshift(8, 1), compl(0) > 0
  print sin(1), cos(1), atan2(1, 2), exp(1), log(2), sqrt(2), int(-2.5), 2 ^ 10, 7 % 3, 1 / 3
  srand(1); first = rand(); srand(1); print first == rand()
  print "sorted" | "sort"; close("sort")
  command = "cat"; print "to and fro" |& command; close(command, "to"); command |& getline line; close(command); print line
  switch (n) { case 40: print "forty"; break; case /x/: print "x"; default: print "other" }
  do { i--; if (i == 30) continue } while (i > 20)
  delete words; print length(words), substr("hello", -1, 3), "a" < "b", "10" < 9, !x, -x
}
/function/ { lines[NR] = $1; $3 = "changed"; gsub(/e/, "E"); print NF, $0 }
NR == 1, /BEGIN/ { count++ }
END { print count, length(lines), NR; exit 3 }
