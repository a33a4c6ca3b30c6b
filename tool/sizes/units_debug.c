/* units_debug.c - the compilation units that debug information tells; see units.h.
 *
 * Debug information is large and intricate, and libdwarf doesn't survive every broken one. So it is
 * read by a process of its own: it is that which ends then, and not the command. It sends each unit:
 * a u32 length and the name, then u64 start and end of each sequence of lines, then two zeros.
 */
#include "tool/sizes/units.h"
#include "tool/source/debug_object.h"

#include <dwarf.h>
#include <errno.h>
#include <fcntl.h>
#include <libdwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- Names ---- */

/* Takes "." and empty parts, and "name/..", out of a path. */
static void normalize(char *path) {
  char *const start = path + (*path == '/');
  char *out = start, *root = start; /* root: behind the "..", which can't be taken out */
  for (const char *in = start; *in != 0;) {
    const size_t length = strcspn(in, "/");
    const bool is_up = length == 2 && in[0] == '.' && in[1] == '.';
    if (is_up && out > root) {
      do
        out--;
      while (out > root && *out != '/');
    } else if (length > 0 && !(length == 1 && *in == '.') && !(is_up && start > path)) {
      if (out > start)
        *out++ = '/';
      memmove(out, in, length);
      out += length;
      root = is_up ? out : root;
    }
    in += length;
    in += *in == '/';
  }
  *out = 0;
}

/* The name of a unit: of its folder and its own. NULL without memory. */
static char *join(const char *folder, const char *name) {
  const bool use_folder = folder != NULL && *folder != 0 && *name != '/';
  const size_t folder_size = use_folder ? strlen(folder) : 0;
  char *path = malloc(folder_size + strlen(name) + 2);
  if (path == NULL)
    return NULL;
  sprintf(path, "%.*s%s%s", (int)folder_size, use_folder ? folder : "", use_folder ? "/" : "",
          name);
  normalize(path);
  return path;
}

/* ---- Debug information ---- */

enum { NAME_MOST = 1 << 20 }; /* of a unit: a longer one isn't told */

/* The name of a compilation unit; one without (of split debug information) has that of its first
 * line's file. NULL without memory. */
static char *unit_name(Dwarf_Debug debug, Dwarf_Die unit, Dwarf_Line *lines, Dwarf_Signed count) {
  char *name = NULL, *folder = NULL, *source = NULL;
  Dwarf_Attribute attribute;
  if (dwarf_attr(unit, DW_AT_comp_dir, &attribute, NULL) == DW_DLV_OK) {
    if (dwarf_formstring(attribute, &folder, NULL) != DW_DLV_OK)
      folder = NULL;
    dwarf_dealloc(debug, attribute, DW_DLA_ATTR);
  }
  if (dwarf_diename(unit, &name, NULL) != DW_DLV_OK || *name == 0)
    name = NULL;
  if (name == NULL && count > 0 && dwarf_linesrc(lines[0], &source, NULL) != DW_DLV_OK)
    source = NULL;
  char *path = join(folder, name != NULL ? name : source != NULL ? source : "(no name)");
  if (source != NULL)
    dwarf_dealloc(debug, source, DW_DLA_STRING);
  return path;
}

/* Sends the sequences of a unit's lines: from the first address to the one that ends it. Linkers give
 * discarded code the address 0. */
static void send_sequences(FILE *out, Dwarf_Line *lines, Dwarf_Signed count) {
  Dwarf_Addr start = 0;
  bool inside = false;
  for (Dwarf_Signed i = 0; i < count; i++) {
    Dwarf_Addr address;
    Dwarf_Bool ends = 0;
    if (dwarf_lineaddr(lines[i], &address, NULL) != DW_DLV_OK ||
        dwarf_lineendsequence(lines[i], &ends, NULL) != DW_DLV_OK)
      continue;
    if (!inside)
      start = address;
    inside = !ends;
    if (ends && start != 0 && start < address)
      fwrite((const uint64_t[]){start, address}, sizeof start, 2, out);
  }
  fwrite((const uint64_t[]){0, 0}, sizeof start, 2, out);
}

/* Sends the compilation unit whose header was read last, if it has code. */
static void send_unit(FILE *out, Dwarf_Debug debug) {
  Dwarf_Die unit;
  Dwarf_Unsigned version;
  Dwarf_Small tables;
  Dwarf_Line_Context context;
  Dwarf_Line *lines;
  Dwarf_Signed count;
  if (dwarf_siblingof_b(debug, NULL, 1, &unit, NULL) != DW_DLV_OK)
    return;
  if (dwarf_srclines_b(unit, &version, &tables, &context, NULL) == DW_DLV_OK) {
    char *name = NULL;
    if (dwarf_srclines_from_linecontext(context, &lines, &count, NULL) == DW_DLV_OK)
      name = unit_name(debug, unit, lines, count);
    if (name != NULL && strlen(name) <= NAME_MOST) {
      const uint32_t length = (uint32_t)strlen(name);
      fwrite(&length, sizeof length, 1, out);
      fwrite(name, 1, length, out);
      send_sequences(out, lines, count);
    }
    free(name);
    dwarf_srclines_dealloc_b(context);
  }
  dwarf_dealloc(debug, unit, DW_DLA_DIE);
}

static void send_units(FILE *out, Dwarf_Debug debug) {
  for (;;) {
    Dwarf_Unsigned header_length, type_offset, next;
    Dwarf_Half version, address_size, length_size, extension_size, type;
    Dwarf_Off abbreviations;
    Dwarf_Sig8 signature;
    if (dwarf_next_cu_header_d(debug, 1, &header_length, &version, &abbreviations, &address_size,
                               &length_size, &extension_size, &signature, &type_offset, &next,
                               &type, NULL) != DW_DLV_OK)
      return;
    send_unit(out, debug);
  }
}

static _Noreturn void read_in_child(const char *path, int pipe) {
  struct problem ignored = {0};
  struct debug_object object;
  FILE *out = fdopen(pipe, "w");
  debug_object_be_quiet();
  if (out != NULL && debug_object_open(&object, path, false, &ignored)) {
    send_units(out, object.dwarf);
    debug_object_close(&object);
  }
  _exit(out != NULL && fflush(out) == 0 ? 0 : 1);
}

/* ---- The command's side ---- */

static bool receive_unit(struct units *units, FILE *in, uint32_t length) {
  char *name = calloc((size_t)length + 1, 1);
  uint64_t range[2];
  if (name != NULL && fread(name, 1, length, in) != length) {
    free(name);
    return true; /* the reader has broken off */
  }
  while (name != NULL && fread(range, sizeof *range, 2, in) == 2 && range[1] != 0)
    if (!units_add_range(&units->lines, range[0], range[1], (uint32_t)units->count)) {
      free(name);
      return false;
    }
  return units_add_name(units, name);
}

/* A length that can't be tells that the reader is out of order; it ends with the pipe. */
static bool receive_units(struct units *units, FILE *in) {
  uint32_t length;
  while (fread(&length, sizeof length, 1, in) == 1 && length <= NAME_MOST)
    if (!receive_unit(units, in, length))
      return false;
  return true;
}

/* Starts the reader; its end of the pipe is *from. 0 if that isn't possible. */
static pid_t start_reader(const char *path, int *from, struct problem *problem) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    problem_set_errno(problem, "can't read debug information");
    return 0;
  }
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    read_in_child(path, ends[1]);
  }
  if (child < 0) {
    problem_set_errno(problem, "can't read debug information");
    close(ends[0]);
  }
  close(ends[1]);
  *from = ends[0];
  return child < 0 ? 0 : child;
}

bool units_read_debug(struct units *units, const char *path, struct problem *problem) {
  int from, status = 0;
  const pid_t child = start_reader(path, &from, problem);
  if (child == 0)
    return false;
  FILE *in = fdopen(from, "r");
  const bool ok = in != NULL && receive_units(units, in);
  if (in != NULL)
    fclose(in);
  else
    close(from);
  while (waitpid(child, &status, 0) < 0 && errno == EINTR)
    ;
  units->is_broken = ok && status != 0;
  return ok || problem_set(problem, "not enough memory");
}
