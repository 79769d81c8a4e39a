//! Opening sockets, with messages that say what is wrong with whose.

use crate::error::WireError;
use crate::plan::{FlowPlan, Role};
use socket2::{Domain, Protocol, Socket, Type};
use std::io::{Error, ErrorKind};
use std::net::SocketAddrV4;

/// IPv4 and UDP.
pub const UDP_HEADER_BYTES: u32 = 28;

/// Bytes of a datagram on the wire whose payload has `payload_bytes`.
pub fn ip_bytes(payload_bytes: usize) -> u64 {
    payload_bytes as u64 + u64::from(UDP_HEADER_BYTES)
}

/// A non-blocking socket for one end of `flow`, with its code point; `ecn` is the ECN field of what it sends, which the
/// kernel sets itself for TCP.
pub fn open(flow: &FlowPlan, kind: Type, ecn: u8) -> Result<Socket, WireError> {
    let failed = |error: Error| explain(flow, "a socket", &error);
    let protocol = if kind == Type::STREAM { Protocol::TCP } else { Protocol::UDP };
    let socket = Socket::new(Domain::IPV4, kind, Some(protocol)).map_err(failed)?;
    socket.set_nonblocking(true).map_err(failed)?;
    socket.set_tos_v4(u32::from(flow.dscp << 2 | ecn)).map_err(failed)?;
    Ok(socket)
}

/// Binds `socket` to the flow's own address.
pub fn bind(flow: &FlowPlan, socket: &Socket, port: u16) -> Result<(), WireError> {
    let address = SocketAddrV4::new(flow.local, port);
    socket.bind(&address.into()).map_err(|error| explain(flow, &format!("binding {address}"), &error))
}

/// Connects `socket` with the flow's receiver; TCP has then only begun.
pub fn connect(flow: &FlowPlan, socket: &Socket) -> Result<(), WireError> {
    let address = receiver(flow);
    match socket.connect(&address.into()) {
        Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => {
            Err(explain(flow, &format!("connecting {address}"), &error))
        }
        _ => Ok(()),
    }
}

/// Where the flow's receiver is, as its sender sees it.
pub fn receiver(flow: &FlowPlan) -> SocketAddrV4 {
    SocketAddrV4::new(flow.peer, flow.port)
}

/// What an error of a flow means.
pub fn explain(flow: &FlowPlan, what: &str, error: &Error) -> WireError {
    let FlowPlan { id, local, peer, port, .. } = flow;
    match error.kind() {
        ErrorKind::AddrInUse => WireError::failed(format!("flow {id}: port {port} of {local} is in use")),
        ErrorKind::AddrNotAvailable => {
            WireError::failed(format!("flow {id}: no interface here has the address {local}"))
        }
        ErrorKind::ConnectionRefused => {
            WireError::failed(format!("flow {id}: nobody receives at port {port} of {peer} (connection refused)"))
        }
        ErrorKind::NetworkUnreachable | ErrorKind::HostUnreachable => {
            WireError::failed(format!("flow {id}: there is no route from {local} to {peer}"))
        }
        ErrorKind::TimedOut => WireError::failed(format!("flow {id}: {peer} does not answer (timed out)")),
        ErrorKind::PermissionDenied => WireError::missing(format!("flow {id}: {what} is not permitted ({error})")),
        _ => WireError::failed(format!("flow {id}: {what}: {error}")),
    }
}

/// Whether a call would have had to wait.
pub fn would_wait(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// Chooses the kernel's congestion control `name` for `socket`.
pub fn set_control(flow: &FlowPlan, socket: &Socket, name: &str) -> Result<(), WireError> {
    socket.set_tcp_congestion(name.as_bytes()).map_err(|error| match error.kind() {
        ErrorKind::NotFound => WireError::missing(format!(
            "flow {}: this kernel has no TCP congestion control called {name:?}; it has {}",
            flow.id,
            controls("available")
        )),
        ErrorKind::PermissionDenied => WireError::missing(format!(
            "flow {}: this user may not choose the TCP congestion control {name:?}; allowed are {}",
            flow.id,
            controls("allowed")
        )),
        _ => explain(flow, &format!("choosing the congestion control {name:?}"), &error),
    })
}

fn controls(which: &str) -> String {
    let list = std::fs::read_to_string(format!("/proc/sys/net/ipv4/tcp_{which}_congestion_control"));
    list.map_or_else(|_| "no list of them".to_owned(), |names| names.split_whitespace().collect::<Vec<_>>().join(", "))
}

/// Whether TCP asks for ECN, and takes it, is a setting of the network namespace (`net.ipv4.tcp_ecn`: 0 neither, 1 both,
/// 2 takes only), except that a sender whose control needs it asks whatever the setting.
pub fn check_ecn(flow: &FlowPlan, control: Option<&str>) -> Result<(), WireError> {
    const NEEDS_IT: &str = "dctcp";
    let setting = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_ecn").unwrap_or_default();
    let setting = setting.trim();
    let must = match flow.role {
        Role::Send if control == Some(NEEDS_IT) => return Ok(()),
        Role::Send if flow.ecn && setting != "1" => "1",
        Role::Send if !flow.ecn && setting == "1" => "0 or 2",
        Role::Receive if flow.ecn && setting == "0" => "1 or 2",
        Role::Send | Role::Receive => return Ok(()),
    };
    let (id, ecn) = (flow.id, flow.ecn);
    Err(WireError::missing(format!(
        "flow {id}: ecn is {ecn}, and a TCP socket cannot choose: net.ipv4.tcp_ecn of its network namespace is {setting}; it must be {must}"
    )))
}
