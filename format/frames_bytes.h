/* frames_bytes.h - the numbers that frames_read.c and frames_write.c share. */
#ifndef STACKPACK_FRAMES_BYTES_H
#define STACKPACK_FRAMES_BYTES_H

enum {
  FRAMES_HEAD_SIZE = 20,
  FRAMES_WORD = 8, /* bytes: the unit of places, offsets and extras */

  FRAMES_TAG_MAX = 2, /* bits */
  FRAMES_TAG_OTHER = 3,
  TAGS_PER_SAMPLE = 128,
  TAGS_PER_WORD = 32,
  RECORDS_PER_START = 256, /* so that a byte numbers a record among them */
  FRAMES_NUMBER_MAX = 16,  /* bits of a shape's number */
  FRAMES_EXTRA_MAX = 25,   /* bits of an extra */

  /* A shape's first byte. */
  FRAMES_REGISTER_MASK = 31, /* of the CFA */
  FRAMES_SIGNED = 32,
  FRAMES_LOST = 64, /* lost registers are listed */

  FRAMES_UNKNOWN =
      255, /* its second byte, mostly how many places it has: it is of unknown frames */
};

#endif
