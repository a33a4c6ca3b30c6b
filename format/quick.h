/* quick.h - functions compiled twice: for any processor, and for one with the instructions that
 * bits_processor_is_quick asks for.
 *
 * Masks, shifts and counts of bits are most of a look-up, and on x86-64 they take half as many
 * instructions with BMI. So a function is written once, as QUICK_BODY, with a parameter `quick` that
 * is constant in both of its callers, QUICK_TARGET and QUICK_OTHERS. Which of them is called is
 * decided when a table is opened.
 *
 * All functions that a look-up nearly always goes through are QUICK_PATH: the linker puts them beside
 * each other, so that they take few pages and cache lines of code.
 */
#ifndef STACKPACK_QUICK_H
#define STACKPACK_QUICK_H

#define QUICK_PATH __attribute__((hot))
#define QUICK_BODY static inline __attribute__((always_inline))
#ifdef __x86_64__
#define QUICK_TARGET QUICK_PATH __attribute__((target("bmi,bmi2,popcnt")))
#define QUICK_OTHERS __attribute__((noinline))
#else
#define QUICK_TARGET __attribute__((noinline))
#define QUICK_OTHERS QUICK_PATH
#endif

#endif
