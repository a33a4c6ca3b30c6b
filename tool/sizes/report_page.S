/* report_page.S - the texts that a report is made of, as they are in their files: each ends with a 0.
 * The two hashes, SHA-256 in base64, are of what stands in the page's <style> and <script>. */

  .section .rodata, "a"

  .macro text name, file
  .globl \name
  .hidden \name
\name:
  .incbin "\file"
  .byte 0
  .endm

  text report_page_html, "report_page.html"
  text report_page_css, "report_page.css"
  text report_page_js, "report_page.js"
  text report_page_css_hash, "report_page.css.hash"
  text report_page_js_hash, "report_page.js.hash"

  .section .note.GNU-stack, "", %progbits
