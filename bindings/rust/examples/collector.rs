//! A collector that moves every object at every allocation, for the managed code of samples/builds/managed.ll. Its
//! output is samples/builds/collector.c's. It is of edition 2021, for Rust 1.63 and newer.

use std::arch::global_asm;
use std::sync::atomic::{AtomicUsize, Ordering};

use stackpack::{context_at_call, sys, Process};

#[repr(C)]
#[derive(Clone, Copy)]
struct Node {
    moved: *mut Node, // while objects move: where this one is now
    next: *mut Node,
    value: i64,
}

const NODES: usize = 1000;
const FREE: Node = Node { moved: std::ptr::null_mut(), next: std::ptr::null_mut(), value: 0 };
static mut SPACES: [[Node; NODES]; 2] = [[FREE; NODES]; 2];
static mut ACTIVE: usize = 0;
static mut USED: usize = 0;
static mut PROCESS: Option<Process> = None;
static COLLECTIONS: AtomicUsize = AtomicUsize::new(0);
static FRAMES: AtomicUsize = AtomicUsize::new(0);

// At a function's first instruction the return address and the caller's stack pointer are certain.
global_asm!(
    ".globl heap_allocate",
    "heap_allocate:",
    "mov rdi, [rsp]",
    "lea rsi, [rsp + 8]",
    "jmp collect_and_allocate",
);

// call_managed(function, argument, end) returns function(argument). It writes the stack pointer of that call to *end: a
// walk that gets there has passed all managed frames.
global_asm!(
    ".globl call_managed",
    "call_managed:",
    "push rbp",
    "mov [rdx], rsp",
    "mov rax, rdi",
    "mov rdi, rsi",
    "call rax",
    "pop rbp",
    "ret",
);
static mut STACK_END: usize = 0;

// Managed code must never call this again: the walk would end at the second call.
unsafe fn enter(function: unsafe extern "C" fn(i64) -> i64, argument: i64) -> i64 {
    assert!(STACK_END == 0);
    let result = call_managed(function, argument, std::ptr::addr_of_mut!(STACK_END));
    STACK_END = 0;
    result
}

unsafe fn forward(node: *mut Node, to: *mut Node, count: &mut usize) -> *mut Node {
    if node.is_null() {
        return node;
    }
    if (*node).moved.is_null() {
        *to.add(*count) = *node;
        (*node).moved = to.add(*count);
        *count += 1;
    }
    (*node).moved
}

#[no_mangle]
unsafe extern "C" fn collect_and_allocate(return_address: usize, stack_pointer: usize) -> *mut Node {
    let from = std::ptr::addr_of_mut!(SPACES[ACTIVE]) as *mut Node;
    let to = std::ptr::addr_of_mut!(SPACES[1 - ACTIVE]) as *mut Node;
    let process = (*std::ptr::addr_of!(PROCESS)).as_ref().expect("main has opened it");
    let mut count = 0;
    let mut walk = process.walk(stack_pointer..STACK_END, &context_at_call(return_address, stack_pointer));
    while walk.next_frame() {
        walk.update(|base| forward(base as *mut Node, to, &mut count) as usize);
    }
    if walk.answer() != sys::STACKPACK_WALK_END {
        eprintln!("the walk stopped: {}", walk.text());
        std::process::abort();
    }
    FRAMES.fetch_add(walk.managed_frames() as usize, Ordering::Relaxed);
    let mut scanned = 0;
    while scanned < count {
        (*to.add(scanned)).next = forward((*to.add(scanned)).next, to, &mut count);
        scanned += 1;
    }
    std::ptr::write_bytes(from, 0xdd, NODES); // a missed reference shows at once
    ACTIVE = 1 - ACTIVE;
    USED = count + 1;
    COLLECTIONS.fetch_add(1, Ordering::Relaxed);
    assert!(count < NODES);
    *to.add(count) = FREE;
    to.add(count)
}

#[no_mangle]
extern "C" fn square(value: i64) -> i64 {
    value * value
}

extern "C" {
    fn sum_of_squares(n: i64) -> i64; // managed.ll
    fn call_managed(function: unsafe extern "C" fn(i64) -> i64, argument: i64, end: *mut usize) -> i64;
}

fn main() -> Result<(), stackpack::Error> {
    unsafe {
        PROCESS = Some(Process::open(8)?);
        println!("{}", enter(sum_of_squares, 100));
    }
    eprintln!("{} collections, {} frames", COLLECTIONS.load(Ordering::Relaxed), FRAMES.load(Ordering::Relaxed));
    Ok(())
}
