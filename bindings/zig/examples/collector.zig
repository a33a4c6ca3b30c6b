//! A collector that moves every object at every allocation, for the managed code of samples/builds/managed.ll. It prints
//! what samples/builds/collector.c does.
const std = @import("std");
const stackpack = @import("stackpack");

const Node = extern struct {
    moved: ?*Node, // while objects move: where this one is now
    next: ?*Node,
    value: i64,
};

const nodes = 1000;
var spaces: [2][nodes]Node = undefined;
var active: usize = 0;
var used: usize = 0;
var collections: usize = 0;
var frames: usize = 0;
var process = stackpack.Process(8){};

fn forward(_: ?*anyopaque, base: usize) callconv(.C) usize {
    const node: *Node = @ptrFromInt(base);
    if (node.moved == null) {
        const to = &spaces[1 - active][used];
        to.* = node.*;
        node.moved = to;
        used += 1;
    }
    return @intFromPtr(node.moved.?);
}

// At a function's first instruction the return address and the caller's stack pointer are certain.
comptime {
    asm (
        \\.globl heap_allocate
        \\heap_allocate:
        \\  movq (%rsp), %rdi
        \\  leaq 8(%rsp), %rsi
        \\  jmp collectAndAllocate
    );
}

// call_managed(function, argument, end) returns function(argument). It writes the stack pointer of that call to end.*: a
// walk that gets there has passed all managed frames.
comptime {
    asm (
        \\.globl call_managed
        \\call_managed:
        \\  pushq %rbp
        \\  movq %rsp, (%rdx)
        \\  movq %rdi, %rax
        \\  movq %rsi, %rdi
        \\  callq *%rax
        \\  popq %rbp
        \\  ret
    );
}
extern fn call_managed(function: *const fn (i64) callconv(.C) i64, argument: i64, end: *usize) i64;
var stack_end: usize = 0;

// Managed code mustn't lead here again: the walk would end at the second call.
fn enter(function: *const fn (i64) callconv(.C) i64, argument: i64) i64 {
    if (stack_end != 0) std.process.abort();
    defer stack_end = 0;
    return call_managed(function, argument, &stack_end);
}

export fn collectAndAllocate(return_address: usize, stack_pointer: usize) *Node {
    const walker = process.walker();
    const context = stackpack.c.stackpack_context_at_call(return_address, stack_pointer, null);
    var walk = stackpack.Walk{};
    used = 0;
    walk.start(&walker, stack_pointer, stack_end, &context);
    while (walk.next()) walk.update(forward, null);
    if (walk.answer != stackpack.c.STACKPACK_WALK_END) {
        std.debug.print("the walk stopped: {s}\n", .{walk.text()});
        std.process.abort();
    }
    frames += walk.walk.managed_frames;
    var scanned: usize = 0;
    while (scanned < used) : (scanned += 1) {
        const next = &spaces[1 - active][scanned].next;
        if (next.*) |node| next.* = @ptrFromInt(forward(null, @intFromPtr(node)));
    }
    @memset(std.mem.sliceAsBytes(&spaces[active]), 0xdd); // what was missed shows at once
    active = 1 - active;
    collections += 1;
    const node = &spaces[active][used];
    used += 1;
    node.* = .{ .moved = null, .next = null, .value = 0 };
    return node;
}

export fn square(value: i64) i64 {
    return value * value;
}

extern fn sum_of_squares(n: i64) i64; // managed.ll

pub fn main() !void {
    try process.open();
    defer process.close();
    try std.io.getStdOut().writer().print("{d}\n", .{enter(&sum_of_squares, 100)});
    std.debug.print("{d} collections, {d} frames\n", .{ collections, frames });
}
