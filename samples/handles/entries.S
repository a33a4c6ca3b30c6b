/* entries.S - where managed code calls C++: see enter.inc. heap_allocate is in common.
 *
 * Both jump to functions in embedder.cpp, with the managed frame as additional arguments.
 */
#include "enter.inc"

	ENTER visit_tree, visit_tree_for_frame, ARGUMENT_2, ARGUMENT_3, ARGUMENT_4
	ENTER value_for_list, value_for_list_for_frame, ARGUMENT_2, ARGUMENT_3, ARGUMENT_4
