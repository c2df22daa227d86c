//! The module mpi_f08: interfaces of the functions' Fortran bindings, made from functions.txt, and
//! the header's numbers.
//!
//! A handle is a derived type of one integer and a status one of eight: they lie in memory as the
//! older bindings' integers do, so both call the same procedures. An `ierror` that is left out is a
//! null address there. Buffers come by their address (MPI_SUBARRAYS_SUPPORTED is false).

use crate::standard::{Constant, constants};
use crate::{Function, HANDLES};

/// Addresses that are handed out.
const ADDRESSES: [&str; 2] = ["baseptr", "buffer_addr"];

/// Handles of the standard of which no function is there.
const FURTHER: [&str; 1] = ["File"];

/// The declaration of an argument; none for those that Fortran does not have.
fn argument(parameter: &str, listed: &str, name: &str) -> Option<String> {
    let ty = parameter.trim_start_matches("const ");
    if ty.starts_with("char ***") || name == "argc" || name == "argv" {
        return None;
    }
    let (is_list, is_pointer) = (parameter.contains('['), parameter.contains('*'));
    let is_in = if is_list || is_pointer { "" } else { ", intent(in)" };
    let rank = if is_list { "(*)" } else { "" };
    let handle = HANDLES.into_iter().find(|it| ty.starts_with(&format!("MPI_{it} ")));
    let kind = match ty.split([' ', '*']).next().unwrap_or("") {
        _ if ADDRESSES.contains(&name) => "type(C_PTR)".to_owned(),
        _ if name == "attribute_val" => "integer(MPI_ADDRESS_KIND)".to_owned(),
        _ if ty.starts_with("char ") => "character(len=*)".to_owned(),
        _ if ty.starts_with("MPI_Status") => "type(MPI_Status)".to_owned(),
        _ if ty.starts_with("MPI_User_function") => {
            return Some(format!("procedure(MPI_User_function) :: {name}"));
        }
        _ if ty.starts_with("void *") => {
            return Some(format!(
                "type(*), dimension(*) :: {name}\n!GCC$ ATTRIBUTES NO_ARG_CHECK :: {name}"
            ));
        }
        _ if handle.is_some() => format!("type(MPI_{})", handle.unwrap_or_default()),
        "MPI_Aint" => "integer(MPI_ADDRESS_KIND)".to_owned(),
        "MPI_Offset" => "integer(MPI_OFFSET_KIND)".to_owned(),
        "MPI_Count" => "integer(MPI_COUNT_KIND)".to_owned(),
        _ if listed.contains("LOGICAL ") => "logical".to_owned(),
        _ => "integer".to_owned(),
    };
    Some(format!("{kind}{is_in} :: {name}{rank}"))
}

/// The interface of a function under a prefix.
fn interface(prefix: &str, f: &Function) -> String {
    let name = format!("{prefix}{}", f.name);
    match f.returns.as_str() {
        "double" => return format!("double precision function {name}()\nend function\n"),
        "MPI_Aint" => {
            let names = f.arguments.join(", ");
            return format!(
                "integer(MPI_ADDRESS_KIND) function {name}({names})\nimport\n\
                 integer(MPI_ADDRESS_KIND), intent(in) :: {names}\nend function\n"
            );
        }
        _ => {}
    }
    let (mut names, mut declared) = (Vec::new(), String::new());
    if f.parameters != "void" {
        let all = f.parameters.split(", ").zip(f.listed.split(", ")).zip(&f.arguments);
        for ((parameter, listed), name) in all {
            if let Some(one) = argument(parameter, listed, name) {
                names.push(name.as_str());
                declared += &format!("{one}\n");
            }
        }
    }
    names.push("ierror");
    format!(
        "subroutine {name}({})\nimport\nimplicit none\n{declared}\
         integer, optional, intent(out) :: ierror\nend subroutine\n",
        names.join(", ")
    )
}

/// Whether the module has a function.
pub(crate) fn has(f: &Function) -> bool {
    let is_bound = f.is_there && !f.is_large && !f.name.ends_with("_c") && !f.is("no-fortran");
    is_bound && !f.is("not-f08")
}

/// The module's text.
pub(crate) fn module(functions: &[Function], header: &str, numbers: &str) -> String {
    let mut text = String::from(
        "! Made from functions.txt and mpi.h of Phalanx's MPI interface.\nmodule mpi_f08\n\
         use, intrinsic :: iso_c_binding, only: C_PTR\nimplicit none\nprivate :: C_PTR\n",
    );
    let handles = || HANDLES.into_iter().chain(FURTHER);
    for handle in handles() {
        text += &format!("type, bind(C) :: MPI_{handle}\ninteger :: MPI_VAL\nend type\n");
    }
    text.push_str(
        "type, bind(C) :: MPI_Status\ninteger :: MPI_SOURCE, MPI_TAG, MPI_ERROR\n\
         integer, private :: internal(5)\nend type\n",
    );
    // The older header's numbers that are no handles, and its common blocks.
    let mut typed = String::new();
    let mut named = Vec::new();
    for Constant { name, handle, value, .. } in constants(header) {
        let Some(handle) = handle.filter(|it| handles().any(|known| known == *it)) else {
            continue;
        };
        named.push(name.to_owned());
        typed += &format!("type(MPI_{handle}), parameter :: {name} = MPI_{handle}({value})\n");
    }
    for line in numbers.lines() {
        let bare = line.trim();
        let is_handle = |it: &String| {
            bare == format!("integer {it}") || bare.starts_with(&format!("parameter ({it}="))
        };
        let is_status = bare.contains("STATUS_IGNORE(8)") || bare.starts_with("external");
        let is_function = bare.contains("AINT_ADD") || bare.contains("WTIME");
        if !bare.starts_with('!') && !named.iter().any(is_handle) && !is_status && !is_function {
            text += &format!("{bare}\n");
        }
    }
    text.push_str(&typed);
    text.push_str(
        "logical, parameter :: MPI_SUBARRAYS_SUPPORTED = .false.\n\
         logical, parameter :: MPI_ASYNC_PROTECTS_NONBLOCKING = .false.\n\
         type(MPI_Status) :: MPI_STATUS_IGNORE, MPI_STATUSES_IGNORE(1)\n\
         abstract interface\n\
         subroutine MPI_User_function(invec, inoutvec, len, datatype)\nimport\n\
         type(C_PTR), value :: invec, inoutvec\ninteger :: len\n\
         type(MPI_Datatype) :: datatype\nend subroutine\nend interface\n",
    );
    for (operator, word) in [("==", "eq"), ("/=", "ne")] {
        text += &format!("interface operator({operator})\n");
        for handle in handles() {
            let low = handle.to_lowercase();
            text += &format!(
                "elemental logical function mpi_phx_{word}_{low}(a, b)\nimport\n\
                 type(MPI_{handle}), intent(in) :: a, b\nend function\n"
            );
        }
        text.push_str("end interface\n");
    }
    text.push_str("interface\n");
    for f in functions.iter().filter(|it| has(it)) {
        for prefix in ["MPI_", "PMPI_"] {
            text.push_str(&interface(prefix, f));
        }
    }
    for prefix in ["MPI_", "PMPI_"] {
        for (name, from, to) in [
            (
                "Status_f2f08",
                "integer, intent(in) :: f_status(8)",
                "type(MPI_Status) :: f08_status",
            ),
            (
                "Status_f082f",
                "type(MPI_Status), intent(in) :: f08_status",
                "integer :: f_status(8)",
            ),
        ] {
            let names =
                if name.ends_with("f08") { "f_status, f08_status" } else { "f08_status, f_status" };
            text += &format!(
                "subroutine {prefix}{name}({names}, ierror)\nimport\nimplicit none\n{from}\n{to}\n\
                 integer, optional, intent(out) :: ierror\nend subroutine\n"
            );
        }
    }
    text.push_str("end interface\nend module mpi_f08\n");
    text
}

/// The shim's part: handles are compared, statuses copied.
pub(crate) fn shim() -> String {
    let mut text = String::new();
    for (operator, word) in [("==", "eq"), ("!=", "ne")] {
        for handle in HANDLES.into_iter().chain(FURTHER) {
            let low = handle.to_lowercase();
            text += &format!(
                "int mpi_phx_{word}_{low}_(const int *a, const int *b) \
                 {{ return *a {operator} *b; }}\n"
            );
        }
    }
    for name in ["f2f08", "f082f"] {
        text += &format!(
            "void pmpi_status_{name}_(const void *from, void *to, int *ierr) {{ \
             memcpy(to, from, sizeof(MPI_Status)); if (ierr) *ierr = 0; }}\n\
             void mpi_status_{name}_(const void *from, void *to, int *ierr) \
             __attribute__((weak, alias(\"pmpi_status_{name}_\")));\n"
        );
    }
    text
}
