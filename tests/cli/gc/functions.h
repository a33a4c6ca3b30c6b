/* The functions that the managed side calls: F(NAME). */
#define FUNCTIONS_THAT_CAN(F)                                                                                          \
  F(by_call) F(by_chain) F(by_tail_call) F(by_condition) F(by_pointer) F(by_pointer_tail) F(by_table) F(by_callback)   \
  F(by_cycle)
#define FUNCTIONS_THAT_CANT(F) F(no_call) F(no_chain) F(no_tail_call) F(no_cycle) F(no_switch) F(no_computed_goto) F(no_outside)

#define DECLARE(name) long name(long x);
FUNCTIONS_THAT_CAN(DECLARE)
FUNCTIONS_THAT_CANT(DECLARE)
void collect(void);
