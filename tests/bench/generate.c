/* generate.c - makes programs with as many records as one likes, of a real program's kind.
 *
 * generate SAMPLE RECORDS OUTPUT [TEXT-SIZE]: draws functions from the program SAMPLE until there
 * are so many records, and writes an ELF file of their stack maps alone, in the raw form and in as
 * many maps as object files would leave, and the functions' symbols. Its code takes
 * no room in the file. Memory holds the sample and one map alone, so the disk bounds the size.
 *
 * A program that is N times as large is taken to be like N programs of the sample's kind, linked
 * together. Each function is drawn from the sample's, with a layout of its own: stack slots
 * trade places, frames grow, and neighbouring calls trade their live sets. Where the sample's
 * function shares its layout with another one, the drawn one has one of N variants of that layout,
 * so layouts are shared by as many functions as in the sample. The distances between calls are the
 * sample's own, in another order for each function. With TEXT-SIZE, code free of safepoints is put
 * between the functions until the text is about so large.
 *
 * The same arguments give the same bytes.
 */
#include "../unit/numbers.h"
#include "../unit/v3_writer.h"
#include "sample.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where things are. The section's size is final at the end only, so the text comes far after it. */
static const uint64_t section_offset = 0x1000, image_address = 0x400000;
static const uint64_t text_address = 0x1000000000;
enum { LOCATIONS_MAX = 65535 };

/* The new stack slots of a function: from[i] is taken for to[i]. */
struct slots {
  int64_t *from, *to;
  uint32_t count;
};

struct generator {
  const struct sample *sample;
  uint64_t records_wanted, variants; /* of each shared layout */
  uint64_t spread;                   /* bytes of other code after each function */
  uint64_t next_address, functions, records;
  uint64_t section_size, symbols;
  FILE *output, *symbol_file;
  struct bytes functions_part, constants_part, records_part; /* of the current map */
  uint32_t map_functions, map_constants, map_records;
  struct slots slots;
  uint32_t *live, *offsets; /* of the current function's records */
};

static void fail(const char *what) {
  fprintf(stderr, "generate: %s\n", what);
  exit(2);
}

static void write_bytes(FILE *file, const void *bytes, size_t size) {
  if (size > 0 && fwrite(bytes, size, 1, file) != 1)
    fail(strerror(errno));
}

/* ---- Drawing a function ---- */

static bool is_slot(struct stackpack_location location) {
  return location.kind == STACKPACK_INDIRECT || location.kind == STACKPACK_DIRECT;
}

static int64_t moved(const struct slots *slots, struct stackpack_location location) {
  for (uint32_t i = 0; is_slot(location) && i < slots->count; i++)
    if (slots->from[i] == location.value)
      return slots->to[i];
  return location.value;
}

static void note_slot(struct generator *generator, uint32_t number) {
  const struct stackpack_location location =
      safepoints_location(&generator->sample->program.loaded.table, number);
  struct slots *slots = &generator->slots;
  if (!is_slot(location))
    return;
  for (uint32_t i = 0; i < slots->count; i++)
    if (slots->from[i] == location.value)
      return;
  if (slots->count < LOCATIONS_MAX)
    slots->from[slots->count++] = location.value;
}

/* The slots that the function's live sets name. */
static void collect_slots(struct generator *generator, const struct safepoint_function *function) {
  const struct safepoints *table = &generator->sample->program.loaded.table;
  generator->slots.count = 0;
  for (uint32_t i = 0; i < function->records; i++) {
    const uint32_t live = table->records[function->first_record + i].live;
    if (i > 0 && live == table->records[function->first_record + i - 1].live)
      continue;
    const struct intern_sequence set = intern_get(&table->live, live);
    for (uint64_t k = 0; k < set.count; k++) {
      if (safepoint_item_is_list(set.words[k]))
        continue;
      note_slot(generator, safepoint_item_base(set.words[k]));
      note_slot(generator, safepoint_item_derived(set.words[k]));
    }
  }
}

/* Slots trade places, and all move up as the frame grows. Returns by how much. */
static uint64_t vary_slots(struct generator *generator, struct numbers *numbers) {
  struct slots *slots = &generator->slots;
  const uint64_t growth = 16 * numbers_below(numbers, 4);
  for (uint32_t i = 0; i < slots->count; i++)
    slots->to[i] = slots->from[i];
  for (uint32_t i = slots->count; i > 1; i--) {
    const uint32_t other = (uint32_t)numbers_below(numbers, i);
    const int64_t value = slots->to[i - 1];
    slots->to[i - 1] = slots->to[other];
    slots->to[other] = value;
  }
  for (uint32_t i = 0; i < slots->count; i++)
    slots->to[i] += (int64_t)growth;
  return growth;
}

/* For each of the function's records, the record with its live set: some neighbours trade. */
static void vary_live_sets(struct generator *generator, const struct safepoint_function *function,
                           struct numbers *numbers) {
  for (uint32_t i = 1; i < function->records; i++) {
    if (numbers_below(numbers, 8) != 0)
      continue;
    const uint32_t live = generator->live[i];
    generator->live[i] = generator->live[i - 1];
    generator->live[i - 1] = live;
  }
}

/* The records' offsets: the sample's distances, shuffled. The first and the last stay in place. */
static void vary_offsets(struct generator *generator, const struct safepoint_function *function,
                         struct numbers *numbers) {
  const struct safepoint *records =
      &generator->sample->program.loaded.table.records[function->first_record];
  uint32_t *offsets = generator->offsets;
  for (uint32_t i = 0; i < function->records; i++)
    offsets[i] =
        (uint32_t)(records[i].address - (i == 0 ? function->address : records[i - 1].address));
  for (uint32_t i = function->records; i > 2; i--) {
    const uint32_t other = 1 + (uint32_t)numbers_below(numbers, i - 1);
    const uint32_t distance = offsets[i - 1];
    offsets[i - 1] = offsets[other];
    offsets[other] = distance;
  }
  for (uint32_t i = 1; i < function->records; i++)
    offsets[i] += offsets[i - 1];
}

/* ---- Writing it ---- */

static void write_location(struct generator *generator, struct stackpack_location location) {
  const int64_t value = moved(&generator->slots, location);
  uint8_t kind = location.kind;
  int32_t field = (int32_t)value;
  if (kind == STACKPACK_LARGE_CONSTANT) {
    v3_constant(&generator->constants_part, (uint64_t)value);
    kind = V3_CONSTANT_INDEX;
    field = (int32_t)generator->map_constants++;
  }
  v3_location(&generator->records_part, kind, location.size, location.reg, field);
}

static void write_constant(struct generator *generator, int32_t value) {
  v3_location(&generator->records_part, V3_CONSTANT, 8, 0, value);
}

static void write_list(struct generator *generator, uint32_t number) {
  const struct safepoints *table = &generator->sample->program.loaded.table;
  const struct intern_sequence list = intern_get(&table->lists, number);
  for (uint64_t i = 0; i < list.count; i++)
    write_location(generator, safepoints_location(table, (uint32_t)list.words[i]));
}

static uint64_t count_locations(const struct safepoints *table, struct intern_sequence live) {
  uint64_t count = 0;
  for (uint64_t i = 0; i < live.count; i++)
    count += safepoint_item_is_list(live.words[i])
                 ? intern_get(&table->lists, safepoint_item_list(live.words[i])).count
                 : 2;
  return count;
}

static void write_live_outs(struct generator *generator, const struct safepoint *record) {
  const struct intern_sequence live_outs =
      intern_get(&generator->sample->program.loaded.table.lists, record->live_outs);
  v3_live_outs(&generator->records_part, (uint16_t)live_outs.count);
  for (uint64_t i = 0; i < live_outs.count; i++)
    v3_live_out(&generator->records_part, (uint16_t)(live_outs.words[i] >> 8),
                (uint8_t)live_outs.words[i]);
}

static void write_record(struct generator *generator, const struct safepoint *record,
                         uint32_t live_number, uint32_t offset) {
  const struct safepoints *table = &generator->sample->program.loaded.table;
  const struct intern_sequence live = intern_get(&table->live, live_number);
  const struct safepoint alike = {.live = live_number};
  const bool statepoint = safepoints_kind(table, &alike) == SAFEPOINT_STATEPOINT;
  const uint64_t deopt = statepoint ? intern_get(&table->lists, record->deopt).count : 0;
  const uint64_t locations = count_locations(table, live) + (statepoint ? 3 + deopt : 0);
  v3_record(&generator->records_part, record->id, offset, (uint16_t)locations);
  if (statepoint) {
    write_constant(generator, record->calling_convention);
    write_constant(generator, record->flags);
    write_constant(generator, (int32_t)deopt);
    write_list(generator, record->deopt);
  }
  for (uint64_t i = 0; i < live.count; i++) {
    const uint64_t item = live.words[i];
    if (safepoint_item_is_list(item)) {
      write_list(generator, safepoint_item_list(item));
      continue;
    }
    write_location(generator, safepoints_location(table, safepoint_item_base(item)));
    write_location(generator, safepoints_location(table, safepoint_item_derived(item)));
  }
  write_live_outs(generator, record);
  v3_end_record(&generator->records_part);
  generator->map_records++;
  generator->records++;
}

static void write_symbol(struct generator *generator, uint64_t size) {
  const Elf64_Sym symbol = {
      .st_name = 1,
      .st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC),
      .st_shndx = 2, /* .text */
      .st_value = generator->next_address,
      .st_size = size,
  };
  write_bytes(generator->symbol_file, &symbol, sizeof symbol);
  generator->symbols++;
}

static void write_function(struct generator *generator, struct numbers *numbers) {
  const struct safepoints *table = &generator->sample->program.loaded.table;
  const struct sample_function *sample =
      &generator->sample->functions[numbers_below(numbers, generator->sample->function_count)];
  const struct safepoint_function *function = &table->functions[sample->function];
  const uint64_t left = generator->records_wanted - generator->records;
  const uint32_t records = function->records < left ? function->records : (uint32_t)left;
  struct numbers variant = {numbers_next(numbers)};
  uint64_t growth = 0;
  if (sample->shared)
    variant.state =
        sample->layout * generator->variants + numbers_below(numbers, generator->variants);
  collect_slots(generator, function);
  for (uint32_t i = 0; i < function->records; i++)
    generator->live[i] = table->records[function->first_record + i].live;
  growth = vary_slots(generator, &variant);
  vary_live_sets(generator, function, &variant);
  vary_offsets(generator, function, numbers);
  const uint64_t frame_size = function->frame_size == SAFEPOINT_FRAME_SIZE_UNKNOWN
                                  ? function->frame_size
                                  : function->frame_size + growth;
  v3_function(&generator->functions_part, generator->next_address, frame_size, records);
  for (uint32_t i = 0; i < records; i++)
    write_record(generator, &table->records[function->first_record + i], generator->live[i],
                 generator->offsets[i]);
  write_symbol(generator, sample->extent);
  generator->map_functions++;
  generator->functions++;
  generator->next_address += (sample->distance + generator->spread + 15) & ~(uint64_t)15;
}

static void write_part(struct generator *generator, struct bytes *part) {
  write_bytes(generator->output, part->data, part->size);
  generator->section_size += part->size;
  part->size = 0;
}

static void write_map(struct generator *generator, struct numbers *numbers) {
  const uint64_t functions =
      1 + numbers_below(numbers, 2 * (uint64_t)generator->sample->functions_per_map);
  struct bytes header = {0};
  generator->map_functions = generator->map_constants = generator->map_records = 0;
  while (generator->map_functions < functions && generator->records < generator->records_wanted)
    write_function(generator, numbers);
  v3_map(&header, generator->map_functions, generator->map_constants, generator->map_records);
  write_part(generator, &header);
  write_part(generator, &generator->functions_part);
  write_part(generator, &generator->constants_part);
  write_part(generator, &generator->records_part);
  bytes_free(&header);
}

/* ---- The file around it ---- */

static const char section_names[] = "\0.llvm_stackmaps\0.text\0.symtab\0.strtab\0.shstrtab";
static const char symbol_names[] = "\0function";
enum { NAME_STACKMAPS = 1, NAME_TEXT = 17, NAME_SYMTAB = 23, NAME_STRTAB = 31, NAME_SHSTRTAB = 39 };

static void append_symbols(struct generator *generator) {
  static char buffer[1 << 16];
  rewind(generator->symbol_file);
  for (size_t size; (size = fread(buffer, 1, sizeof buffer, generator->symbol_file)) > 0;)
    write_bytes(generator->output, buffer, size);
  if (ferror(generator->symbol_file))
    fail(strerror(errno));
}

static void write_headers(struct generator *generator, uint64_t section_headers) {
  const uint64_t text_size = generator->next_address - text_address;
  const Elf64_Ehdr header = {
      .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
      .e_type = ET_EXEC,
      .e_machine = EM_X86_64,
      .e_version = EV_CURRENT,
      .e_entry = text_address,
      .e_phoff = sizeof header,
      .e_shoff = section_headers,
      .e_ehsize = sizeof header,
      .e_phentsize = sizeof(Elf64_Phdr),
      .e_phnum = 2,
      .e_shentsize = sizeof(Elf64_Shdr),
      .e_shnum = 6,
      .e_shstrndx = 5,
  };
  const uint64_t loaded = section_offset + generator->section_size;
  const Elf64_Phdr segments[] = {
      {PT_LOAD, PF_R, 0, image_address, image_address, loaded, loaded, 0x1000},
      {PT_LOAD, PF_R | PF_X, 0, text_address, text_address, 0, text_size, 0x1000},
  };
  rewind(generator->output);
  write_bytes(generator->output, &header, sizeof header);
  write_bytes(generator->output, segments, sizeof segments);
}

static uint64_t write_sections(struct generator *generator) {
  const uint64_t symbols = section_offset + generator->section_size;
  const uint64_t symbols_size = (generator->symbols + 1) * sizeof(Elf64_Sym);
  const uint64_t strings = symbols + symbols_size;
  const uint64_t names = strings + sizeof symbol_names;
  const uint64_t headers = (names + sizeof section_names + 7) & ~(uint64_t)7;
  const Elf64_Shdr sections[] = {
      {0},
      {NAME_STACKMAPS, SHT_PROGBITS, SHF_ALLOC, image_address + section_offset, section_offset,
       generator->section_size, 0, 0, 8, 0},
      {NAME_TEXT, SHT_NOBITS, SHF_ALLOC | SHF_EXECINSTR, text_address, symbols,
       generator->next_address - text_address, 0, 0, 16, 0},
      {NAME_SYMTAB, SHT_SYMTAB, 0, 0, symbols, symbols_size, 4, (uint32_t)generator->symbols + 1, 8,
       sizeof(Elf64_Sym)},
      {NAME_STRTAB, SHT_STRTAB, 0, 0, strings, sizeof symbol_names, 0, 0, 1, 0},
      {NAME_SHSTRTAB, SHT_STRTAB, 0, 0, names, sizeof section_names, 0, 0, 1, 0},
  };
  const Elf64_Sym no_symbol = {0};
  const char padding[8] = {0};
  write_bytes(generator->output, &no_symbol, sizeof no_symbol);
  append_symbols(generator);
  write_bytes(generator->output, symbol_names, sizeof symbol_names);
  write_bytes(generator->output, section_names, sizeof section_names);
  write_bytes(generator->output, padding, headers - names - sizeof section_names);
  write_bytes(generator->output, sections, sizeof sections);
  return headers;
}

/* ---- Arguments ---- */

static uint64_t largest_function(const struct sample *sample) {
  uint64_t largest = 1;
  for (uint32_t i = 0; i < sample->function_count; i++) {
    const uint32_t records =
        sample->program.loaded.table.functions[sample->functions[i].function].records;
    largest = records > largest ? records : largest;
  }
  return largest;
}

/* How much other code goes after each function for a text of so many bytes. */
static uint64_t spread_for(const struct sample *sample, uint64_t records, uint64_t text_size) {
  uint64_t distance = 0;
  for (uint32_t i = 0; i < sample->function_count; i++)
    distance += sample->functions[i].distance;
  const double functions =
      (double)records * sample->function_count / sample->program.loaded.table.record_count;
  const double each = (double)text_size / functions - (double)distance / sample->function_count;
  return each > 0 ? (uint64_t)each : 0;
}

static void generate(struct generator *generator) {
  const struct sample *sample = generator->sample;
  const uint64_t largest = largest_function(sample);
  const uint64_t sample_records = sample->program.loaded.table.record_count;
  struct numbers numbers = {generator->records_wanted};
  static const char headers[0x1000];
  generator->next_address = text_address;
  generator->variants = (generator->records_wanted + sample_records - 1) / sample_records;
  generator->live = test_allocate(largest * sizeof *generator->live);
  generator->offsets = test_allocate(largest * sizeof *generator->offsets);
  generator->slots.from = test_allocate(LOCATIONS_MAX * sizeof(int64_t));
  generator->slots.to = test_allocate(LOCATIONS_MAX * sizeof(int64_t));
  write_bytes(generator->output, headers, sizeof headers);
  while (generator->records < generator->records_wanted)
    write_map(generator, &numbers);
  write_headers(generator, write_sections(generator));
  bytes_free(&generator->functions_part);
  bytes_free(&generator->constants_part);
  bytes_free(&generator->records_part);
  free(generator->live);
  free(generator->offsets);
  free(generator->slots.from);
  free(generator->slots.to);
}

int main(int argc, char **argv) {
  struct sample sample;
  struct problem problem = {0};
  struct generator generator = {.sample = &sample};
  if (argc != 4 && argc != 5)
    fail("usage: generate SAMPLE RECORDS OUTPUT [TEXT-SIZE]");
  generator.records_wanted = strtoull(argv[2], NULL, 10);
  if (generator.records_wanted == 0 || generator.records_wanted > UINT32_MAX)
    fail("the number of records isn't one from 1 to 4294967295");
  if (!sample_open(&sample, argv[1], &problem)) {
    problem_print(&problem, argv[1]);
    return 2;
  }
  if (argc == 5)
    generator.spread = spread_for(&sample, generator.records_wanted, strtoull(argv[4], NULL, 10));
  generator.output = fopen(argv[3], "wb");
  generator.symbol_file = tmpfile();
  if (generator.output == NULL || generator.symbol_file == NULL)
    fail(strerror(errno));
  generate(&generator);
  if (fclose(generator.output) != 0)
    fail(strerror(errno));
  fclose(generator.symbol_file);
  printf("%s: %" PRIu64 " records of %" PRIu64 " functions, %.1f bytes each; text %.2f GB\n",
         argv[3], generator.records, generator.functions,
         (double)generator.section_size / (double)generator.records,
         (double)(generator.next_address - text_address) / 1e9);
  sample_close(&sample);
  return 0;
}
