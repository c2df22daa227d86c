//! What the machine is, as far as it tells: hardware, a virtual machine, or one that software
//! emulates, where no time means anything.

use std::sync::OnceLock;

/// What is known about the machine that the system runs on.
#[derive(Clone, Debug, Default)]
struct MachineFacts {
    /// What the hypervisor calls itself (CPUID leaf 0x40000000); x86-64 only.
    hypervisor: Option<String>,
    /// The processor's name as the kernel gives it.
    cpu: String,
    /// What the firmware calls the machine (/sys/class/dmi/id).
    vendor: String,
}

/// Who runs the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Runner {
    /// Nobody, as far as is known.
    Hardware,
    /// A hypervisor, on the processor itself.
    Virtual(String),
    /// A program that interprets every instruction.
    Emulated(String),
}

/// QEMU's own interpreter ("tiny code generator") says this; with KVM it says KVM's name.
const TCG: &str = "TCGTCGTCGTCG";

impl MachineFacts {
    fn here() -> Self {
        let line =
            |file: &str| std::fs::read_to_string(file).unwrap_or_default().trim().to_string();
        MachineFacts {
            hypervisor: hypervisor(),
            cpu: crate::bench::run_conditions::cpu(),
            vendor: line("/sys/class/dmi/id/sys_vendor"),
        }
    }

    fn runner(&self) -> Runner {
        let named = self.hypervisor.as_deref();
        // "QEMU TCG CPU version 2.5+". "QEMU Virtual CPU" runs under KVM, too.
        if named == Some(TCG) || self.cpu.contains("QEMU TCG") {
            return Runner::Emulated("QEMU TCG".to_string());
        }
        match named {
            Some(name) => Runner::Virtual(name.to_string()),
            None if self.vendor == "QEMU" => Runner::Virtual("QEMU".to_string()),
            None => Runner::Hardware,
        }
    }
}

/// The hypervisor's name for itself.
#[cfg(target_arch = "x86_64")]
fn hypervisor() -> Option<String> {
    // Safe in newer compilers.
    #[allow(unused_unsafe)]
    // SAFETY: every x86-64 processor has the instruction, which changes nothing.
    let leaf = |number| unsafe { std::arch::x86_64::__cpuid(number) };
    if leaf(1).ecx >> 31 & 1 == 0 {
        return None;
    }
    let found = leaf(0x4000_0000);
    let bytes: Vec<u8> =
        [found.ebx, found.ecx, found.edx].iter().flat_map(|r| r.to_le_bytes()).collect();
    let name = String::from_utf8_lossy(&bytes).trim_matches(['\0', ' ']).to_string();
    Some(if name.is_empty() { "unnamed".to_string() } else { name })
}

#[cfg(not(target_arch = "x86_64"))]
fn hypervisor() -> Option<String> {
    None
}

fn runner() -> &'static Runner {
    static RUNNER: OnceLock<Runner> = OnceLock::new();
    RUNNER.get_or_init(|| MachineFacts::here().runner())
}

/// The emulator that runs this machine; none of hardware and of virtual machines.
pub fn emulator() -> Option<&'static str> {
    match runner() {
        Runner::Emulated(name) => Some(name),
        _ => None,
    }
}

/// For the head of an output: that no time of an emulated machine means anything.
pub fn warning() -> Option<String> {
    let name = emulator()?;
    Some(format!(
        "EMULATED MACHINE ({name}): no time, rate or size below says anything about hardware"
    ))
}

/// In a few words, for the description of a machine.
pub fn described() -> String {
    match runner() {
        Runner::Hardware => "no hypervisor known".to_string(),
        Runner::Virtual(name) => format!("virtual machine ({name})"),
        Runner::Emulated(name) => format!("emulated ({name}): its times mean nothing"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runner(hypervisor: Option<&str>, cpu: &str, vendor: &str) -> Runner {
        let hypervisor = hypervisor.map(String::from);
        MachineFacts { hypervisor, cpu: cpu.to_string(), vendor: vendor.to_string() }.runner()
    }

    /// As these machines say.
    #[test]
    fn emulated_and_virtual_machines_are_told_apart() {
        let emulated = Runner::Emulated("QEMU TCG".to_string());
        assert_eq!(runner(Some(TCG), "QEMU TCG CPU version 2.5+", "QEMU"), emulated);
        assert_eq!(runner(Some(TCG), "Intel Xeon Processor (Skylake)", "QEMU"), emulated);
        assert_eq!(runner(None, "QEMU TCG CPU version 2.5+", ""), emulated);
        let run_by = |name: &str| Runner::Virtual(name.to_string());
        let kvm = Some("KVMKVMKVM");
        assert_eq!(runner(kvm, "QEMU Virtual CPU version 2.5+", "QEMU"), run_by("KVMKVMKVM"));
        assert_eq!(runner(kvm, "AMD EPYC 7B13", "Google"), run_by("KVMKVMKVM"));
        assert_eq!(
            runner(Some("Microsoft Hv"), "AMD EPYC 7763", "Microsoft Corporation"),
            run_by("Microsoft Hv")
        );
        assert_eq!(runner(None, "Cortex-A72", "QEMU"), run_by("QEMU"));
        assert_eq!(runner(None, "AMD EPYC 9654 96-Core Processor", "Supermicro"), Runner::Hardware);
    }

    #[test]
    fn this_machine_is_something() {
        assert!(!described().is_empty());
        assert_eq!(warning().is_some(), emulator().is_some());
    }
}
