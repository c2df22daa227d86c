//! Fingerprints: every message identifies the call that it belongs to.

use super::digest::{Digest, NUMBER, NUMBERS_AT};
use crate::mailbox::EAGER;
use crate::mix::{STEP, mix};
use std::any::TypeId;
use typeid::ConstTypeId;

/// The part of a call's fingerprint that is known at compile time. One static
/// per call, element type and operator, so that equal calls almost always have
/// equal addresses; where the compiler made two copies, the contents decide.
#[derive(Debug)]
pub(crate) struct Signature {
    /// The public method's name, as errors and records have it.
    pub(crate) call: &'static str,
    /// The name that ranks compare: where one method carries another out, as `all_reduce` does
    /// `sum`, that of the one that carries, so that the two may meet.
    pub(crate) meets: &'static str,
    /// This call in the order of [`Order::Fixed`](crate::Order::Fixed), if that is another one.
    pub(crate) in_order: Option<&'static Signature>,
    /// The element type, exactly: the type as which a payload is read depends on it. A function, as
    /// `TypeId::of` is no constant before Rust 1.91.
    pub(crate) element: fn() -> TypeId,
    /// For people.
    pub(crate) element_name: fn() -> &'static str,
    /// Bytes of an element.
    pub(crate) element_size: usize,
    /// The operator's kind, empty where there is none: for people.
    pub(crate) operator: &'static str,
    /// The operator's type, exactly but for lifetimes: two closures are of two types, even if they
    /// have one name.
    pub(crate) operator_type: ConstTypeId,
    /// For people.
    pub(crate) operator_name: fn() -> &'static str,
    /// The meaning of the call's parameter, in words: a root, a distance, a number of parts; empty
    /// if it has none, or if people need not hear of it.
    pub(crate) parameter: &'static str,
    /// Whether the parameter is a rank's number.
    pub(crate) names_rank: bool,
}

impl Signature {
    /// The fingerprint of `call` on elements `T`, which it does not combine.
    pub(crate) const fn of<T: 'static>(call: &'static str, parameter: &'static str) -> Self {
        Signature::combining::<T, ()>(call, "", parameter)
    }

    /// The fingerprint of `call` on elements `T` with an operator `O`, of the kind
    /// `operator`.
    pub(crate) const fn combining<T: 'static, O>(
        call: &'static str,
        operator: &'static str,
        parameter: &'static str,
    ) -> Self {
        Signature {
            call,
            meets: call,
            in_order: None,
            element: TypeId::of::<T>,
            element_name: std::any::type_name::<T>,
            element_size: size_of::<T>(),
            operator,
            operator_type: ConstTypeId::of::<O>(),
            operator_name: std::any::type_name::<O>,
            parameter,
            names_rank: matches!(
                parameter.as_bytes(),
                b"to root" | b"from root" | b"to rank" | b"from rank"
            ),
        }
    }

    /// This call, which the method `carrier` carries out.
    pub(crate) const fn meets(self, carrier: &'static str) -> Self {
        Signature { meets: carrier, ..self }
    }

    /// This call, which is `ordered` where the order is fixed.
    pub(crate) const fn in_order(self, ordered: &'static Signature) -> Self {
        Signature { in_order: Some(ordered), ..self }
    }

    /// The element type.
    pub(crate) fn element(&self) -> TypeId {
        (self.element)()
    }

    /// Whether both describe the same call on the same element type, by an operator
    /// of the same type.
    #[inline(always)]
    pub(crate) fn agrees(&'static self, other: *const ()) -> bool {
        std::ptr::eq(std::ptr::from_ref(self).cast(), other) || self.agrees_in_content(other)
    }

    #[cold]
    fn agrees_in_content(&self, other: *const ()) -> bool {
        // SAFETY: every `sig` in a header or notice was made from a
        // `&'static Signature` (by `Port`), and a null one is never looked at: a
        // message has a header.
        let other: &'static Signature = unsafe { &*other.cast::<Signature>() };
        self.element() == other.element()
            && self.meets == other.meets
            && self.operator == other.operator
            && self.operator_type == other.operator_type
    }

    /// In words, the fact that differs; none if nothing does.
    pub(crate) fn difference(&'static self, other: *const ()) -> Option<String> {
        if self.agrees(other) {
            return None;
        }
        // SAFETY: as in `agrees_in_content`.
        let other: &'static Signature = unsafe { &*other.cast::<Signature>() };
        // Two parts of one method, perhaps.
        let calls = match self.meets == other.meets || self.call == other.call {
            true => (self.meets, other.meets),
            false => (self.call, other.call),
        };
        let names = [
            ("operation", calls.0, calls.1),
            ("element type", (self.element_name)(), (other.element_name)()),
            ("operator", self.operator, other.operator),
        ];
        names
            .iter()
            .find(|(_, a, b)| a != b)
            .map(|(name, a, b)| format!("{name}: expected {a}, got {b}"))
            .or_else(|| Some(self.types_of_one_name(other)))
    }

    /// The fact that differs, if no name does that is compared first.
    fn types_of_one_name(&self, other: &Signature) -> String {
        if self.element() != other.element() {
            return "element type: two types of one name".to_string();
        }
        let (a, b) = ((self.operator_name)(), (other.operator_name)());
        match a == b {
            true => format!("operators of two types, both named {a} (each closure is a type)"),
            false => format!("operators of two types: expected {a}, got {b}"),
        }
    }

    /// The elements, and the operator, in words: `f64 with sum`.
    pub(crate) fn detail(&self) -> String {
        let element = Some((self.element_name)()).filter(|name| *name != "()");
        let operator = (!self.operator.is_empty()).then(|| format!("with {}", self.operator));
        let parts = element.map(str::to_string).into_iter().chain(operator);
        parts.collect::<Vec<_>>().join(" ")
    }

    /// The call in words: `reduce of 8 f64 with sum to root 2`.
    pub(crate) fn words(&self, len: usize, parameter: Option<usize>) -> String {
        self.words_as(self.call, len, parameter)
    }

    /// The call in words, under another name.
    pub(crate) fn words_as(&self, call: &str, len: usize, parameter: Option<usize>) -> String {
        let mut s = call.to_string();
        let element = (self.element_name)();
        if element != "()" {
            s += &format!(" of {len} {element}");
        }
        if !self.operator.is_empty() {
            s += &format!(" with {}", self.operator);
        }
        if let Some(parameter) = parameter.filter(|_| !self.parameter.is_empty()) {
            s += &format!(", {} {parameter}", self.parameter);
        }
        s
    }
}

/// How a payload travels: a value of the check's `kind` field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PayloadKind(u8);

impl PayloadKind {
    /// The payload is longer than [`PayloadKind::BRIEF`], was copied, and begins with
    /// its length in elements, which is compared in full.
    pub(crate) const COPIED: PayloadKind = PayloadKind(61);
    /// The payload is the address of one slice and its length in elements.
    pub(crate) const SLICE: PayloadKind = PayloadKind(62);
    /// The payload is the address of a list of slices, their number, and the
    /// sum of their lengths in elements.
    pub(crate) const LIST: PayloadKind = PayloadKind(63);

    /// Bytes up to which the kind itself says how many they are.
    pub(crate) const BRIEF: usize = 60;

    /// The payload is `bytes` bytes that the sender has copied.
    #[inline(always)]
    pub(crate) const fn copied(bytes: usize) -> PayloadKind {
        if bytes <= PayloadKind::BRIEF { PayloadKind(bytes as u8) } else { PayloadKind::COPIED }
    }

    /// The bytes in the slot, if that is where the payload is.
    #[inline(always)]
    pub(crate) const fn bytes(self) -> Option<usize> {
        if self.0 as usize <= PayloadKind::BRIEF { Some(self.0 as usize) } else { None }
    }

    /// How many elements of `size` bytes the payload has, as far as the kind says it.
    fn elements(self, size: usize) -> String {
        let (brief, eager) = (PayloadKind::BRIEF / size.max(1), EAGER / size.max(1));
        match self.bytes() {
            Some(bytes) if bytes.is_multiple_of(size.max(1)) => (bytes / size.max(1)).to_string(),
            Some(bytes) => format!("{bytes} bytes"),
            None if size == 0 => format!("more than {brief}"),
            None if self == PayloadKind::COPIED => format!("{} to {eager}", brief + 1),
            None => format!("more than {eager}"),
        }
    }
}

/// The transport of a collective call: a field of its own in the fingerprint, since one
/// algorithm's result may come by several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallTransport {
    /// Channels, one for each pair of ranks.
    Messages,
    /// Everybody shows everybody a few bytes.
    Gates,
    /// Everybody shows everybody its memory.
    Boards,
}

impl CallTransport {
    /// By its number in a record.
    pub(crate) const ALL: [CallTransport; 3] =
        [CallTransport::Messages, CallTransport::Gates, CallTransport::Boards];

    /// In words.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            CallTransport::Messages => "messages",
            CallTransport::Gates => "all at once",
            CallTransport::Boards => "direct access",
        }
    }
}

/// The parameters of a call that distinguish it, beside its [`Signature`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallParams {
    /// Elements, as far as all ranks must give the same number.
    pub(crate) len: usize,
    /// Elements of this rank, where ranks may give different numbers. For
    /// people: never compared.
    pub(crate) own_len: Option<usize>,
    /// Root or distance, or [`Fingerprint::NO_PARAMETER`].
    pub(crate) parameter: usize,
    /// The algorithm's number.
    pub(crate) algorithm: u16,
    pub(crate) transport: CallTransport,
    pub(crate) digest: Digest,
}

impl CallParams {
    /// Of a call of `len` elements, and nothing else.
    #[inline(always)]
    pub(crate) const fn of(len: usize) -> Self {
        let parameter = Fingerprint::NO_PARAMETER;
        let (algorithm, transport, digest) = (0, CallTransport::Messages, Digest::NONE);
        CallParams { len, own_len: None, parameter, algorithm, transport, digest }
    }

    /// Of this rank, in a call of `sig`.
    #[inline(always)]
    pub(super) fn bytes(&self, sig: &Signature) -> u64 {
        self.own_len.unwrap_or(self.len).wrapping_mul(sig.element_size) as u64
    }
}

/// The facts about a call when it asks whether it may begin.
#[derive(Clone, Copy, Debug)]
pub(crate) enum BeginningCall {
    Unknown,
    /// A message's.
    Message(CallParams),
    Collective(CallParams),
}

#[cfg_attr(not(feature = "tracing"), allow(dead_code))]
impl BeginningCall {
    /// This rank's bytes in a call of `sig`, if they are known.
    pub(crate) fn bytes(&self, sig: &Signature) -> Option<u64> {
        match self {
            BeginningCall::Unknown => None,
            BeginningCall::Message(params) | BeginningCall::Collective(params) => {
                Some(params.bytes(sig))
            }
        }
    }
}

/// The part of a call's fingerprint that is known at run time, packed into a
/// word so that one comparison settles it:
///
/// | bits | field |
/// |---|---|
/// | 0..14 | number of the collective call, modulo 2^14 (0 for point to point) |
/// | 14..25 | root or distance, 2047 for none |
/// | 25..33 | algorithm, modulo 2^8 |
/// | 33..38 | extents of a mesh: 5 bits of their digest; of counts: of their number (`counts.rs`) |
/// | 38..44 | kind of payload |
/// | 44..56 | length of the call in elements, modulo 2^12, xor 12 more bits of the digest |
/// | 56..64 | number of the sender's latest call of any sort (not compared; finds the record) |
///
/// The transport is not among them: headers are compared only with others that came
/// by the same. Records, which are compared across all, have it, and the whole
/// number of the algorithm.
///
/// The facts that memory safety depends on are compared in full elsewhere: the element
/// type by [`Signature`], the number of elements behind a pointer, or of a payload of more than
/// [`PayloadKind::BRIEF`] bytes, in the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fingerprint(pub(crate) u64);

const COMPARED: u64 = (1 << 56) - 1;

impl Digest {
    /// 17 bits of it for a message's fingerprint; 0 for no digest. The low 5 bits of
    /// counts are those of their number, as they are.
    #[inline(always)]
    pub(crate) const fn bits(self) -> u64 {
        match self.0 >> 62 {
            0 if self.0 == 0 => 0,
            // The low bits are those of a hash.
            3 => self.0 & 0x1ffe0 | self.0 >> NUMBERS_AT & NUMBER,
            _ => mix(self.0) & 0x1ffff,
        }
    }
}

impl Fingerprint {
    pub(crate) const NO_PARAMETER: usize = 2047;

    #[inline(always)]
    pub(crate) const fn new(call: u64, params: &CallParams, record: u64) -> Self {
        let digest = params.digest.bits();
        Fingerprint(
            (call & 0x3fff)
                | ((params.parameter as u64) & 0x7ff) << 14
                | (params.algorithm as u64 & 0xff) << 25
                | (digest & 0x1f) << 33
                | ((params.len as u64 ^ digest >> 5) & 0xfff) << 44
                | record << 56,
        )
    }

    #[inline(always)]
    pub(crate) const fn with(self, kind: PayloadKind) -> Self {
        Fingerprint(self.0 | (kind.0 as u64) << 38)
    }

    /// How the payload travels.
    #[inline(always)]
    pub(crate) const fn kind(self) -> PayloadKind {
        PayloadKind((self.0 >> 38) as u8 & 0x3f)
    }

    /// A digest of calls, with that of this fingerprint and of `sig`. (Two operations of one root,
    /// of which neither rank takes the other's input, have names of two lengths.)
    #[inline(always)]
    pub(crate) const fn added_to(self, digest: u64, sig: &Signature) -> u64 {
        let call = self.0 & COMPARED ^ (sig.meets.len() as u64) << 56;
        (digest.rotate_left(5) ^ call).wrapping_mul(STEP)
    }

    #[inline(always)]
    pub(crate) const fn agrees(self, other: Fingerprint) -> bool {
        (self.0 ^ other.0) & COMPARED == 0
    }

    /// Root or distance, if there is one.
    pub(crate) const fn parameter(self) -> Option<usize> {
        let parameter = (self.0 >> 14) as usize & 0x7ff;
        if parameter == Fingerprint::NO_PARAMETER { None } else { Some(parameter) }
    }

    /// The low bits of the number of the sender's record.
    pub(crate) const fn record(self) -> u64 {
        self.0 >> 56
    }

    /// Whether both belong to the same collective call (or to none).
    pub(crate) const fn is_same_call(self, other: Fingerprint) -> bool {
        (self.0 ^ other.0) & 0x3fff == 0
    }

    /// In words, which fields differ: "the expected value, the one that came". `name`
    /// names an algorithm; an element has `size` bytes.
    pub(crate) fn difference(
        self,
        other: Fingerprint,
        size: usize,
        name: &dyn Fn(u16) -> String,
    ) -> String {
        let field = |shift: u32, bits: u32| {
            let get = |c: Fingerprint| (c.0 >> shift) & ((1 << bits) - 1);
            (get(self), get(other))
        };
        let mut said = Differences::default();
        let (a, b) = field(0, 14);
        said.say("number of the collective call", a.to_string(), b.to_string());
        // Of another call nothing else is to be compared.
        if !said.0.is_empty() {
            return said.0;
        }
        let (a, b) = field(14, 11);
        said.say("root or distance", a.to_string(), b.to_string());
        let (algorithm, extents, len) = (field(25, 8), field(33, 5), field(44, 12));
        said.say("algorithm", name(algorithm.0 as u16), name(algorithm.1 as u16));
        let digest = |extents: u64, len: u64| (extents << 12 | len).to_string();
        let (a, b) = (digest(extents.0, len.0), digest(extents.1, len.1));
        said.say("length, extents of the mesh, or counts (a digest)", a, b);
        let [a, b] = [self, other].map(|it| it.kind().elements(size));
        said.say("message length", a, b);
        said.0
    }
}

/// Facts that differ, in words.
#[derive(Default)]
pub(super) struct Differences(pub(super) String);

impl Differences {
    /// Adds a fact that is `a` here and `b` there, if these differ.
    #[inline(never)]
    pub(super) fn say(&mut self, fact: &str, a: String, b: String) {
        if a != b {
            let and = if self.0.is_empty() { "" } else { ", " };
            self.0 += &format!("{and}{fact}: expected {a}, got {b}");
        }
    }
}
