# Some of each part of Tcl.
proc fibonacci n { if {$n < 2} { return $n }; expr {[fibonacci [expr {$n - 1}]] + [fibonacci [expr {$n - 2}]]} }
puts [fibonacci 9]
puts [lsort -integer -decreasing {3 1 2}][lmap x {1 2 3} {expr {$x * 2}}][lsearch -glob {aa bb} b*][lindex {a b c} end][lrange {1 2 3 4} 1 2][join {1 2} ,]
puts [string map {a b} banana][string range abcdef 1 end-1][string toupper x][string compare a b][string repeat ab 3][string match a*c abc]
puts [regexp -inline {a+(n)} banana][regsub -all {(a)(.)} banana {\2\1}][format "%05.2f %x %s %c" 3.14159 255 hi 65][scan "12 abc" "%d %s"]
set d [dict create a 1 b 2]
dict set d c [dict create e 5]
dict for {k v} $d { puts "$k $v" }
dict incr d a; puts [dict get $d c e][dict size $d]
array set table {x 1 y 2}
puts [array size table][lsort [array names table]]
puts [clock format 0 -gmt 1 -format "%Y-%m-%d"][clock scan 2020-01-01 -gmt 1 -format %Y-%m-%d]
catch { error boom } message options
puts $message
try { throw {A B} thrown } trap {A B} m { puts $m } finally { puts finally }
set f [open [info script]]; fconfigure $f -encoding utf-8 -translation lf; gets $f line; seek $f 0; puts [llength [split [read $f] \n]]; close $f
coroutine steps apply {{} { yield; foreach i {1 2} { yield $i } }}
puts [steps][steps]
oo::class create Base { variable v; constructor {} { set v 3 }; method get {} { return $v }; method unknown args { return unknown } }
oo::class create Derived { superclass Base; method get {} { expr {[next] + 1} }; filter log; method log args { next {*}$args } }
set object [Derived new]; puts [$object get][$object nowhere]; $object destroy
namespace eval space { variable v 1; proc get {} { variable v; return $v }; namespace export get }
namespace import space::get; puts [get]
puts [expr {sqrt(2) + sin(1) + 2 ** 70 + wide(5) + int(3.7)}][expr {"a" in {a b} ? 1 << 4 : ~7}]
puts [encoding convertto utf-8 \u00e9][binary scan abc H* hexadecimal]$hexadecimal[binary encode base64 hello]
interp create inner; inner eval { set a 1 }; interp alias inner say {} puts; inner eval { say aliased }; interp delete inner
after 5 { set done 1 }; vwait done
puts [exec echo hi][file tail /a/b][glob -nocomplain /etc/pass*][pwd]
trace add variable traced write { apply {args { puts traced }} }
set traced 1
rename fibonacci renamed; puts [info commands renamed][info body renamed]
puts [string length [zlib deflate [string repeat hello 50]]][zlib inflate [zlib deflate hello]]
foreach {a b} {1 2 3 4} { if {$a == 3} break; switch -glob $a { 1* { puts one } default { puts more } } }
while 1 { if {[incr count] > 5} break }
puts [subst {$count [set d]}][eval list 1 2][uplevel #0 {set count}]
unset traced
exit 3
