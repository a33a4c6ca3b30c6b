//! Stack maps of packed programs, for collectors written in Rust: a safe layer over `libstackpack`.
//!
//! ```ignore
//! let process = stackpack::Process::open(8)?; // once, at start-up
//! let mut walk = unsafe { process.walk(low..high, &stackpack::context_at_call(return_address, stack_pointer)) };
//! while walk.next_frame() {
//!     // Moves the objects that this frame refers to.
//!     unsafe { walk.update(|base| forward(base)) };
//! }
//! // `high` is the stack pointer at which native code called managed code: this answer alone is success.
//! assert_eq!(walk.answer(), stackpack::sys::STACKPACK_WALK_END);
//! ```
//!
//! The rest is in [`sys`], all of `stackpack.h` but its inline functions; that header is the manual.

use std::ffi::{c_void, CStr};
use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Range;

#[path = "sys.rs"]
pub mod sys;

/// The reason why stack maps are unusable.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Error(pub sys::stackpack_error);

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(text(unsafe { sys::stackpack_error_text(self.0) }))
    }
}
impl fmt::Debug for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}
impl std::error::Error for Error {}

/// The library's texts are ASCII in static storage.
fn text(chars: *const std::os::raw::c_char) -> &'static str {
    unsafe { CStr::from_ptr(chars) }.to_str().unwrap_or("?")
}

/// The stack maps of the running program's modules. The library keeps pointers into it: so it keeps its address.
pub struct Process {
    process: Box<sys::stackpack_process>,
    _modules: Box<[sys::stackpack_module]>,
}

// Look-ups write nothing: any number of threads may share a process.
unsafe impl Send for Process {}
unsafe impl Sync for Process {}

impl Process {
    /// Opens the stack maps of all modules that have any, at most `modules` of them.
    pub fn open(modules: usize) -> Result<Process, Error> {
        // Zeros, like static variables of C.
        let mut list: Box<[sys::stackpack_module]> =
            (0..modules).map(|_| unsafe { MaybeUninit::zeroed().assume_init() }).collect();
        let mut process: Box<sys::stackpack_process> = Box::new(unsafe { MaybeUninit::zeroed().assume_init() });
        let error = unsafe { sys::stackpack_process_open(&mut *process, list.as_mut_ptr(), modules as _) };
        match error {
            sys::STACKPACK_OK => return Ok(Process { process, _modules: list }),
            sys::STACKPACK_TOO_MANY_MODULES => {}
            _ => unsafe { sys::stackpack_process_close(&mut *process) },
        }
        Err(Error(error))
    }

    /// A walk over a stack of these addresses, from the frame of a context to older ones.
    ///
    /// # Safety
    /// Until the walk is dropped, these addresses and the places of the context's registers are readable, and nobody
    /// else writes to them: the stack is a stopped thread's, or a caller's.
    pub unsafe fn walk(&self, stack: Range<usize>, context: &sys::stackpack_context) -> Walk<'_> {
        let mut walker: Box<sys::stackpack_walker> = Box::new(MaybeUninit::zeroed().assume_init());
        walker.process = &*self.process;
        let mut walk: Box<sys::stackpack_walk> = Box::new(MaybeUninit::zeroed().assume_init());
        let bounds = sys::stackpack_stack { low: stack.start as _, end: stack.end as _ };
        sys::stackpack_walk_start(&mut *walk, &*walker, bounds, context);
        Walk { walk, _walker: walker, answer: sys::STACKPACK_WALK_NO_MANAGED, process: PhantomData }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        unsafe { sys::stackpack_process_close(&mut *self.process) }
    }
}

/// Where managed code called out: its return address, and its stack pointer after the return.
pub fn context_at_call(return_address: usize, stack_pointer: usize) -> sys::stackpack_context {
    unsafe { sys::stackpack_context_at_call(return_address as _, stack_pointer as _, std::ptr::null_mut()) }
}

/// A walk under way. The library keeps pointers into both structures: so they stay where they are.
pub struct Walk<'a> {
    walk: Box<sys::stackpack_walk>,
    _walker: Box<sys::stackpack_walker>,
    answer: sys::stackpack_walk_answer,
    process: PhantomData<&'a Process>,
}

impl Walk<'_> {
    /// Moves to the next frame. False at the walk's end: `answer` has the reason.
    pub fn next_frame(&mut self) -> bool {
        self.answer = unsafe { sys::stackpack_walk_next(&mut *self.walk) };
        self.answer == sys::STACKPACK_WALK_MANAGED || self.answer == sys::STACKPACK_WALK_NATIVE
    }

    /// The walk's last answer.
    pub fn answer(&self) -> sys::stackpack_walk_answer {
        self.answer
    }

    /// The same in English.
    pub fn text(&self) -> &'static str {
        text(unsafe { sys::stackpack_walk_text(self.answer) })
    }

    /// How many managed frames were met.
    pub fn managed_frames(&self) -> u64 {
        self.walk.managed_frames
    }

    /// Updates all roots of a managed frame: each base becomes `forward`'s result for it, and a derived reference keeps
    /// its distance from its base. A failure ends the walk: the next `next_frame` returns it.
    ///
    /// # Safety
    /// The stack and the places of registers are writable. `forward` doesn't unwind.
    pub unsafe fn update<F: FnMut(usize) -> usize>(&mut self, mut forward: F) {
        unsafe extern "C" fn call<F: FnMut(usize) -> usize>(closure: *mut c_void, base: usize) -> usize {
            (*(closure as *mut F))(base)
        }
        let call: unsafe extern "C" fn(*mut c_void, usize) -> usize = call::<F>;
        // uintptr_t is another type to bindgen's versions: usize, or u64.
        #[allow(clippy::missing_transmute_annotations)]
        let call = std::mem::transmute(call);
        sys::stackpack_walk_update(&mut *self.walk, call, &mut forward as *mut F as *mut c_void);
    }
}
