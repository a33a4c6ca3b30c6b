/* report_page.S - the page of `stackpack report`, as it was made of its files; a 0 ends it. */

  .section .rodata, "a"
  .globl report_page
  .hidden report_page
report_page:
  .incbin "report_page.html"
  .byte 0

  .section .note.GNU-stack, "", %progbits
