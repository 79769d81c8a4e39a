//! The C interface to `sojourn-endpoint`, for transport stacks with C linkage. `include/sojourn_endpoint.h` is what a stack
//! reads: it says what each function does, and what it may do. The structs here are those of the header.

use sojourn_endpoint::{Asked, Connection, Ecn, Endpoint, Time, command_of};
use std::error::Error;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// The room for a datagram, in bytes: the most that UDP over IPv4 carries.
const ROOM_BYTES: usize = 65_507;
/// By the value of the field in the IP header.
const ECN: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];
/// The functions of an end, in their order there.
const FUNCTIONS: [&str; 6] = ["receive", "wake", "next_wake", "transmit", "delivered_bytes", "destroy"];

/// `struct sojourn_asked`: what a connection is asked for.
#[repr(C)]
struct SojournAsked {
    control: *const c_char,
    seed: u64,
    number: u64,
    bytes: u64,
    qlog: *const c_char,
}

/// `struct sojourn_end`: one end of a connection, with all its functions.
#[repr(C)]
#[derive(Clone, Copy)]
struct SojournEnd {
    this: *mut c_void,
    receive: unsafe extern "C" fn(*mut c_void, u64, u8, *const u8, usize),
    wake: unsafe extern "C" fn(*mut c_void, u64),
    next_wake: unsafe extern "C" fn(*const c_void) -> u64,
    transmit: unsafe extern "C" fn(*mut c_void, u64, *mut u8, usize, *mut u8) -> usize,
    delivered_bytes: unsafe extern "C" fn(*const c_void) -> u64,
    destroy: unsafe extern "C" fn(*mut c_void),
    header_bytes: u16,
    /// It may be NULL.
    write: Option<unsafe extern "C" fn(*mut c_void, u64, u64)>,
}

/// An end as `connect` left it: an end only where none of its functions is NULL.
#[repr(C)]
union Filled {
    words: [*const c_void; 1 + FUNCTIONS.len()],
    end: SojournEnd,
}

/// `sojourn_connect`.
type Connect = unsafe extern "C" fn(*const SojournAsked, *mut Filled, *mut Filled) -> *const c_char;

/// An end that is Sojourn's to destroy.
struct Stack {
    end: SojournEnd,
    /// It writes here, not into the carrier's buffers: those stay as short as the datagrams in them.
    room: Box<[u8]>,
}

#[allow(unsafe_code, reason = "calls of the stack's functions")]
// SAFETY of each call: `this` is what `connect` gave with the function, and is not destroyed yet; the other pointers are to as
// many bytes as is said beside them.
impl Endpoint for Stack {
    fn receive(&mut self, now: Time, ecn: Ecn, datagram: &[u8]) {
        unsafe { (self.end.receive)(self.end.this, now.as_nanos(), ecn as u8, datagram.as_ptr(), datagram.len()) };
    }

    fn write(&mut self, now: Time, bytes: u64) {
        match self.end.write {
            Some(write) => unsafe { write(self.end.this, now.as_nanos(), bytes) },
            None => resume_unwind(Box::new(format!("its application has {bytes} bytes more, and its write is NULL"))),
        }
    }

    fn wake(&mut self, now: Time) {
        unsafe { (self.end.wake)(self.end.this, now.as_nanos()) };
    }

    fn next_wake(&self) -> Time {
        Time::from_nanos(unsafe { (self.end.next_wake)(self.end.this) })
    }

    fn transmit(&mut self, now: Time, room: &mut Vec<u8>) -> Option<Ecn> {
        let (at, place, mut ecn) = (now.as_nanos(), self.room.as_mut_ptr(), 0);
        let bytes = unsafe { (self.end.transmit)(self.end.this, at, place, ROOM_BYTES, &raw mut ecn) };
        if bytes == 0 {
            return None;
        }
        // The carrier makes a sentence of a panic, with connection and time. One that is resumed prints nothing of its own.
        let fault = |what: String| -> ! { resume_unwind(Box::new(what)) };
        let Some(datagram) = self.room.get(..bytes) else {
            fault(format!("transmit returned {bytes} bytes; allowed: 0 to {ROOM_BYTES}"))
        };
        room.extend_from_slice(datagram);
        Some(*ECN.get(usize::from(ecn)).unwrap_or_else(|| fault(format!("transmit set ecn to {ecn}; allowed: 0 to 3"))))
    }

    fn delivered_bytes(&self) -> u64 {
        unsafe { (self.end.delivered_bytes)(self.end.this) }
    }

    fn header_bytes(&self) -> u32 {
        self.end.header_bytes.into()
    }
}

#[allow(unsafe_code, reason = "a call of the stack's function")]
impl Drop for Stack {
    fn drop(&mut self) {
        // SAFETY: this happens once, and nothing of the end is called later.
        unsafe { (self.end.destroy)(self.end.this) };
    }
}

#[allow(unsafe_code, reason = "the stack's own function, and what it leaves behind")]
fn connection(asked: &Asked, connect: Connect) -> Result<Connection, Box<dyn Error>> {
    let control = asked.control.as_deref().map(CString::new).transpose()?;
    let control = control.as_deref().map_or(std::ptr::null(), CStr::as_ptr);
    let qlog = asked.qlog.as_ref().map(|file| CString::new(file.as_os_str().as_encoded_bytes())).transpose()?;
    let qlog = qlog.as_deref().map_or(std::ptr::null(), CStr::as_ptr);
    let (number, bytes) = (asked.number as u64, asked.bytes.unwrap_or(u64::MAX));
    let asked = SojournAsked { control, seed: asked.seed, number, bytes, qlog };
    // SAFETY: zeroes are words that are NULL. What is pointed to is there until `connect` returns.
    let [mut sender, mut receiver] = unsafe { std::mem::zeroed::<[Filled; 2]>() };
    let wrong = unsafe { connect(&raw const asked, &raw mut sender, &raw mut receiver) };
    if !wrong.is_null() {
        // SAFETY: it is a string, and copied before anything else is called.
        return Err(unsafe { CStr::from_ptr(wrong) }.to_string_lossy().into());
    }
    let stack = |name: &str, filled: Filled| {
        // SAFETY: words may be anything; an end is read where no function is NULL.
        let words = unsafe { filled.words };
        match words[1..].iter().position(|function| function.is_null()) {
            Some(place) => Err(format!("connect left {name}->{} NULL; an end has all its functions", FUNCTIONS[place])),
            None => Ok(Box::new(Stack { end: unsafe { filled.end }, room: vec![0; ROOM_BYTES].into() })),
        }
    };
    Ok(Connection { sender: stack("sender", sender)?, receiver: stack("receiver", receiver)? })
}

/// Does what `sojourn_endpoint::command` does, for the `main` of a C program. Returns 0, or 1 where it printed what is wrong.
#[allow(unsafe_code, reason = "a name that C can call, and its strings")]
#[unsafe(no_mangle)]
unsafe extern "C" fn sojourn_endpoint_main(
    argc: c_int,
    argv: *const *const c_char,
    controls: *const *const c_char,
    connect: Option<Connect>,
) -> c_int {
    // SAFETY: whoever calls says that `controls` is NULL, or strings up to a NULL.
    let name = |place: usize| unsafe {
        let name = if controls.is_null() { controls.cast() } else { *controls.add(place) };
        (!name.is_null()).then(|| CStr::from_ptr(name).to_string_lossy())
    };
    let word = |place: usize| {
        // SAFETY: whoever calls says that `argv` has `argc` strings.
        let word = unsafe { CStr::from_ptr(*argv.add(place)) };
        word.to_str().map(str::to_owned).map_err(|_| format!("argument {place}: found {word:?}; allowed: UTF-8"))
    };
    let work = || {
        let connect = connect.ok_or("sojourn_endpoint_main: connect is NULL")?;
        let words = (1..usize::try_from(argc)?).map(word).collect::<Result<Vec<_>, _>>()?;
        let names: Vec<_> = (0..).map_while(name).collect();
        let controls: Vec<_> = names.iter().map(AsRef::as_ref).collect();
        command_of(&words, &controls, &|asked| connection(asked, connect))
    };
    // A panic must not reach C. One that comes so far is a fault of the simulation, and was printed where it happened.
    let done = catch_unwind(AssertUnwindSafe(work));
    if let Ok(Err(wrong)) = &done {
        // Where nobody reads it, the number still says it.
        let _ = writeln!(std::io::stderr(), "{wrong}");
    }
    c_int::from(!matches!(done, Ok(Ok(()))))
}
