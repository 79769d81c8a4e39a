//! One end of a QUIC connection: quinn's state machines, a socket, and what is sent or received over one stream.

use crate::link::received;
use bytes::BytesMut;
use quinn_proto::{
    ClientConfig, Connection, ConnectionEvent, ConnectionHandle, DatagramEvent, Dir, Endpoint, EndpointConfig, Event,
    ReadError, ServerConfig, StreamEvent, StreamId, Transmit, WriteError,
};
use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Instant;

/// What an end does with its stream.
enum Task {
    Send { payload: Vec<u8>, written: usize, stream: Option<StreamId> },
    Receive { payload: Vec<u8>, whole: bool },
}

/// One end.
pub struct Peer {
    socket: UdpSocket,
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    task: Task,
}

impl Peer {
    fn new(server: Option<Arc<ServerConfig>>, task: Task) -> Result<Peer, Box<dyn Error>> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        socket.set_nonblocking(true)?;
        let endpoint = Endpoint::new(Arc::new(EndpointConfig::default()), server, true, None);
        Ok(Peer { socket, endpoint, connection: None, task })
    }

    /// A server that keeps what it is sent.
    ///
    /// # Errors
    /// What the system says of the socket.
    pub fn server(config: ServerConfig) -> Result<Peer, Box<dyn Error>> {
        Peer::new(Some(Arc::new(config)), Task::Receive { payload: Vec::new(), whole: false })
    }

    /// A client that sends `payload` to `server`.
    ///
    /// # Errors
    /// What the system says of the socket, or quinn of the configuration.
    pub fn client(
        config: ClientConfig,
        server: SocketAddr,
        payload: Vec<u8>,
        now: Instant,
    ) -> Result<Peer, Box<dyn Error>> {
        let mut peer = Peer::new(None, Task::Send { payload, written: 0, stream: None })?;
        peer.connection = Some(peer.endpoint.connect(now, config, server, "localhost")?);
        Ok(peer)
    }

    /// Where it receives.
    ///
    /// # Errors
    /// What the system says of the socket.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// What has arrived, once all has.
    pub fn arrived(&self) -> Option<&[u8]> {
        match &self.task {
            Task::Receive { payload, whole: true } => Some(payload),
            _ => None,
        }
    }

    /// Its connection, where there is one.
    pub fn connection(&self) -> Option<&Connection> {
        self.connection.as_ref().map(|(_, connection)| connection)
    }

    /// Receives, works and sends what there is at `now`. Whether there was anything.
    ///
    /// # Errors
    /// What the system says of the socket, or why the connection was lost.
    pub fn step(&mut self, now: Instant) -> Result<bool, Box<dyn Error>> {
        let mut moved = false;
        let mut datagram = [0; 2048];
        while let Some((bytes, from)) = received(self.socket.recv_from(&mut datagram))? {
            self.take_in(&datagram[..bytes], from, now)?;
            moved = true;
        }
        let Some((handle, connection)) = &mut self.connection else { return Ok(moved) };
        if connection.poll_timeout().is_some_and(|at| at <= now) {
            connection.handle_timeout(now);
        }
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(answer) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(answer);
            }
        }
        while let Some(event) = connection.poll() {
            self.task.on_event(event, connection)?;
        }
        self.task.write(connection)?;
        let mut bytes = Vec::new();
        while let Some(transmit) = connection.poll_transmit(now, 1, &mut bytes) {
            send(&self.socket, &transmit, &bytes)?;
            bytes.clear();
            moved = true;
        }
        Ok(moved)
    }

    fn take_in(&mut self, datagram: &[u8], from: SocketAddr, now: Instant) -> Result<(), Box<dyn Error>> {
        let mut answer = Vec::new();
        match self.endpoint.handle(now, from, None, None, BytesMut::from(datagram), &mut answer) {
            Some(DatagramEvent::ConnectionEvent(handle, event)) => self.tell(handle, event),
            Some(DatagramEvent::NewConnection(incoming)) if self.connection.is_none() => {
                let accepted = self.endpoint.accept(incoming, now, &mut answer, None);
                self.connection = Some(accepted.map_err(|refused| refused.cause)?);
            }
            Some(DatagramEvent::NewConnection(incoming)) => self.endpoint.ignore(incoming),
            Some(DatagramEvent::Response(transmit)) => send(&self.socket, &transmit, &answer)?,
            None => {}
        }
        Ok(())
    }

    fn tell(&mut self, handle: ConnectionHandle, event: ConnectionEvent) {
        if let Some((own, connection)) = &mut self.connection
            && *own == handle
        {
            connection.handle_event(event);
        }
    }
}

fn send(socket: &UdpSocket, transmit: &Transmit, bytes: &[u8]) -> std::io::Result<()> {
    socket.send_to(&bytes[..transmit.size], transmit.destination)?;
    Ok(())
}

impl Task {
    fn on_event(&mut self, event: Event, connection: &mut Connection) -> Result<(), Box<dyn Error>> {
        match (event, self) {
            (Event::ConnectionLost { reason }, _) => return Err(reason.into()),
            (Event::Connected, Task::Send { stream, .. }) => *stream = connection.streams().open(Dir::Uni),
            // Several datagrams at once make several events; the stream is gone after the one that has read its end.
            (Event::Stream(_), Task::Receive { whole: true, .. }) => {}
            (Event::Stream(StreamEvent::Opened { dir }), Task::Receive { payload, whole }) => {
                if let Some(stream) = connection.streams().accept(dir) {
                    *whole = read(connection, stream, payload)?;
                }
            }
            (Event::Stream(StreamEvent::Readable { id }), Task::Receive { payload, whole }) => {
                *whole = read(connection, id, payload)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Writes as much as the stream takes, and ends it after the last byte.
    fn write(&mut self, connection: &mut Connection) -> Result<(), Box<dyn Error>> {
        let Task::Send { payload, written, stream } = self else { return Ok(()) };
        let Some(id) = *stream else { return Ok(()) };
        loop {
            match connection.send_stream(id).write(&payload[*written..]) {
                Ok(taken) => *written += taken,
                Err(WriteError::Blocked) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
            if *written == payload.len() {
                connection.send_stream(id).finish()?;
                *stream = None;
                return Ok(());
            }
        }
    }
}

/// Reads what is there. Whether the stream has ended.
fn read(connection: &mut Connection, id: StreamId, payload: &mut Vec<u8>) -> Result<bool, Box<dyn Error>> {
    let mut stream = connection.recv_stream(id);
    let mut chunks = stream.read(true)?;
    let ended = loop {
        match chunks.next(usize::MAX) {
            Ok(Some(chunk)) => payload.extend_from_slice(&chunk.bytes),
            Ok(None) => break true,
            Err(ReadError::Blocked) => break false,
            Err(error) => return Err(error.into()),
        }
    };
    // What it allows to send next is asked for by `poll_transmit`, after every event.
    let _ = chunks.finalize();
    Ok(ended)
}
