//! Stack maps of packed programs, for collectors written in Zig: a thin layer over `libstackpack`.
//!
//! `c` is stackpack.h as it stands, translated by the compiler: that header is the manual. Compile with the folder of
//! the installed header (`zig build-exe -I ...`, or `pkg-config --cflags stackpack`), and link libstackpack and libc.
pub const c = @cImport(@cInclude("stackpack.h"));

pub const Error = error{ NoStackMaps, System, NoMemory, Unusable, TooManyModules };

fn errorOf(code: c_uint) Error!void {
    return switch (code) {
        c.STACKPACK_OK => {},
        c.STACKPACK_NO_STACK_MAPS => Error.NoStackMaps,
        c.STACKPACK_SYSTEM_ERROR => Error.System,
        c.STACKPACK_NO_MEMORY => Error.NoMemory,
        c.STACKPACK_TOO_MANY_MODULES => Error.TooManyModules,
        else => Error.Unusable, // broken, or of a newer version
    };
}

/// The stack maps of the running program's modules. The library keeps pointers into both members: so a process is opened
/// where it stays, such as in a variable of the program.
pub fn Process(comptime modules: usize) type {
    return struct {
        process: c.struct_stackpack_process = undefined,
        modules: [modules]c.struct_stackpack_module = undefined,

        const Self = @This();

        pub fn open(self: *Self) Error!void {
            return errorOf(c.stackpack_process_open(&self.process, &self.modules, modules));
        }

        pub fn close(self: *Self) void {
            c.stackpack_process_close(&self.process);
        }

        /// How to walk: managed frames only, as a walker of zeros says. It stays where it is during a walk.
        pub fn walker(self: *const Self) c.struct_stackpack_walker {
            var result = @import("std").mem.zeroes(c.struct_stackpack_walker);
            result.process = &self.process;
            return result;
        }
    };
}

/// A walk under way: stays where it is.
pub const Walk = struct {
    walk: c.struct_stackpack_walk = undefined,
    answer: c_uint = undefined,

    /// From the frame of a context to older ones, on a stack of the addresses low <= a < end.
    pub fn start(self: *Walk, walker: *const c.struct_stackpack_walker, low: usize, end: usize, context: *const c.struct_stackpack_context) void {
        c.stackpack_walk_start(&self.walk, walker, .{ .low = low, .end = end }, context);
    }

    /// Moves to the next frame. False at the walk's end: `answer` says which.
    pub fn next(self: *Walk) bool {
        self.answer = @intCast(c.stackpack_walk_next(&self.walk));
        return self.answer == c.STACKPACK_WALK_MANAGED or self.answer == c.STACKPACK_WALK_NATIVE;
    }

    /// Updates all roots of a managed frame: each base becomes what `forward` says of it.
    pub fn update(self: *Walk, forward: *const fn (?*anyopaque, usize) callconv(.C) usize, closure: ?*anyopaque) void {
        _ = c.stackpack_walk_update(&self.walk, forward, closure); // a failure ends the walk
    }

    pub fn text(self: *const Walk) [*:0]const u8 {
        return c.stackpack_walk_text(self.answer);
    }
};
