//! The cost of a message in software, and the number of transfers of its line.

use super::costs::CostsError;
use crate::mailbox::EAGER;

/// The way in which messages travel: this library's mailboxes, or another's.
///
/// A message between cores with a hand-off of h ns takes `send_ns + transfers h + receive_ns` one
/// way.
///
/// # Examples
/// ```
/// use phalanx::tuning::Transport;
/// // 24 ns between the cores: a mailbox costs two hand-offs and little else.
/// assert_eq!(Transport::PHALANX.one_way(24.0), 53.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transport {
    /// Nanoseconds of software for the sender, per message.
    pub send_ns: f64,
    /// The part of a hand-off for which a message keeps its sender busy, beside the software:
    /// taking the line back from the core that polls it.
    pub send_share: f64,
    /// Nanoseconds of software for the receiver, per message.
    pub receive_ns: f64,
    /// Transfers of the line per message: one to take it back from the core that polls it, one to
    /// bring it there.
    pub transfers: f64,
    /// Nanoseconds that a message takes longer if its sender asks to be told that it has been taken
    /// (`MPI_Ssend`; [`Schedule::acknowledged`](crate::schedule::Schedule::acknowledged)).
    pub acknowledge_ns: f64,
    /// Whether a core that has sent must see its message through before it begins to take the one
    /// that has come meanwhile. So it is with queues with slots that are written by both sides (the
    /// receiver clears the header that the sender has set), not with ours, where every line has one
    /// writer.
    pub turnaround: bool,
    /// Lines that a receiver fetches at once when several messages wait for it.
    pub pulls: f64,
    /// GB/s of the library's own copying, where that is slower than the hardware.
    pub copy_rate: Option<f64>,
    /// Whether the sender copies as well (through a shared buffer), and is busy for as long.
    pub sender_copies: bool,
    /// Up to so many bytes travel in the line; more is pulled from the sender's memory.
    pub inline_bytes: f64,
    /// From so many bytes on a message lends its sender's memory: the sender ends its call only
    /// when it was told that the message has been taken. None: it never waits for that.
    pub lent_from: Option<f64>,
    /// How many times as long as a pull from the nearest core a rank takes for the two copies of
    /// data that come for memory that it still lends: a shift in place.
    pub bounce: f64,
    /// Nanoseconds that a store to a shared line takes longer for each further rank that polls it
    /// (assumed).
    pub poller_ns: f64,
    /// Where the numbers are from.
    pub source: &'static str,
}

impl Transport {
    /// This library. Software: an 8-byte mailbox ping-pong less two hand-offs each way, on two
    /// cores of an EPYC virtual machine (`cargo bench --bench ratios`).
    pub const PHALANX: Transport = Transport {
        send_ns: 2.0,
        send_share: 0.18,
        receive_ns: 3.0,
        transfers: 2.0,
        acknowledge_ns: 0.0,
        turnaround: false,
        pulls: 4.0,
        copy_rate: None,
        sender_copies: false,
        inline_bytes: 40.0,
        lent_from: Some(EAGER as f64 + 1.0),
        bounce: 1.5,
        poller_ns: 5.0,
        source: "benches/ratios; send_share as measured for Smelt's channels; \
                 bounce by benches/choice.rs, shifts of two ranks; pulls and poller_ns assumed",
    };

    /// Nothing but t_s: the textbook's messages.
    pub const TEXTBOOK: Transport = Transport {
        send_ns: 0.0,
        send_share: 0.0,
        receive_ns: 0.0,
        transfers: 1.0,
        acknowledge_ns: 0.0,
        turnaround: false,
        pulls: 1.0,
        copy_rate: None,
        sender_copies: false,
        inline_bytes: 0.0,
        lent_from: None,
        bounce: 0.0,
        poller_ns: 0.0,
        source: "t_s + t_w m",
    };

    /// Checks that every number can be one: times from 0, rates above 0, all below 10^12.
    ///
    /// # Errors
    /// [`CostsError::Absurd`] with the first that cannot be.
    ///
    /// # Examples
    /// ```
    /// use phalanx::tuning::Transport;
    /// let error = Transport { pulls: 0.0, ..Transport::PHALANX }.check().unwrap_err();
    /// assert_eq!(error.to_string(), "the transport: pulls = 0 cannot be");
    /// ```
    pub fn check(&self) -> Result<(), CostsError> {
        let times = [
            ("send_ns", self.send_ns),
            ("send_share", self.send_share),
            ("receive_ns", self.receive_ns),
            ("transfers", self.transfers),
            ("acknowledge_ns", self.acknowledge_ns),
            ("inline_bytes", self.inline_bytes),
            ("poller_ns", self.poller_ns),
            ("bounce", self.bounce),
        ];
        let rates = [
            ("pulls", Some(self.pulls)),
            ("copy_rate", self.copy_rate),
            ("lent_from", self.lent_from),
        ];
        let bad = times.into_iter().find(|(_, x)| !(0.0..1e12).contains(x));
        let low = rates.into_iter().find(|(_, x)| x.is_some_and(|x| !(x > 0.0 && x < 1e12)));
        let low = low.map(|(name, x)| (name, x.unwrap_or(f64::NAN)));
        match bad.or(low) {
            Some((name, x)) => Err(CostsError::Absurd {
                id: "the transport".to_string(),
                what: format!("{name} = {x}"),
            }),
            None => Ok(()),
        }
    }

    /// Nanoseconds of one message from an idle sender to a waiting receiver, where a hand-off takes
    /// `h` ns.
    pub fn one_way(&self, h: f64) -> f64 {
        self.send_ns + self.transfers * h + self.receive_ns
    }
}
