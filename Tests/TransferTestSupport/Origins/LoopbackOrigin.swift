import Glibc
import Synchronization

/// An HTTP/1.1 origin on 127.0.0.1 that can behave as badly as a test needs.
///
/// Each connection has a thread of its own. Paths without a script answer 404.
package final class LoopbackOrigin: Sendable {
    /// Decides what to do with a request.
    package typealias Responder = @Sendable (OriginRequest) -> OriginScript
    /// Takes bytes of a request's body as they arrive; false resets the connection.
    package typealias BodyTaker = @Sendable (OriginRequest, ArraySlice<UInt8>) -> Bool

    struct Route: Sendable {
        let readsBody: Bool
        /// What is done before the body is read.
        var beginning: Responder?
        var taker: BodyTaker?
        let responder: Responder
    }

    private struct State {
        var routes: [String: Route] = [:]
        var connections: Set<Int32> = []
        var isStopped = false
    }

    /// Where it listens; after its stop nobody does, as long as the origin is there.
    package var port: UInt16 { held.number }
    private let held: HeldPort
    /// The requests and actions so far.
    package let log = OriginLog()
    /// Readable once the origin stops; every waiting connection watches it.
    let stopGate = OriginGate()
    private let connectionsMax: Int
    private let state = Mutex(State())

    /// The default limit of simultaneous connections; further ones wait in the kernel's queue.
    package static let connectionsMaxDefault = 1024

    /// Listens and starts accepting; `port` is one on which nobody listens, or 0 for any.
    package init(
        connectionsMax: Int = LoopbackOrigin.connectionsMaxDefault,
        port: UInt16 = 0
    ) throws(HeldPort.Failure) {
        self.connectionsMax = connectionsMax
        held = try HeldPort(port)
        let listener = try held.listen(backlog: 4096)
        startThread { [weak self, stopGate] in
            while wait(for: listener, unless: stopGate) {
                let descriptor = accept(listener, nil, nil)
                guard descriptor >= 0 else { continue }
                _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
                guard let self else {
                    close(descriptor)
                    break
                }
                serve(descriptor)
            }
            close(listener)
        }
    }

    deinit { stop() }

    /// Returns the absolute URL of a path on this origin.
    package func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }

    /// Answers requests for `path`, whatever their query, with what `responder` returns.
    ///
    /// - Parameters:
    ///   - path: the target's path.
    ///   - readsBody: false to answer before the request's body was read.
    ///   - responder: called on the connection's thread.
    package func when(_ path: String, readsBody: Bool = true, _ responder: @escaping Responder) {
        state.withLock {
            $0.routes[path] = Route(readsBody: readsBody, responder: responder)
        }
    }

    /// Answers requests for `path`, before and after their bodies.
    ///
    /// - Parameters:
    ///   - path: the target's path.
    ///   - beginning: called before the body is read.
    ///   - taker: called with each piece of the body.
    ///   - responder: called after the body.
    package func when(
        _ path: String,
        beginning: @escaping Responder,
        taking taker: @escaping BodyTaker,
        _ responder: @escaping Responder
    ) {
        let route = Route(
            readsBody: true,
            beginning: beginning,
            taker: taker,
            responder: responder
        )
        state.withLock { $0.routes[path] = route }
    }

    /// Answers requests for `path` always with the same script.
    package func when(_ path: String, _ script: OriginScript) {
        when(path) { _ in script }
    }

    /// Ends all connections, stops listening and releases everything that the responders hold.
    package func stop() {
        stopGate.open()
        // Release them outside the lock: an object held by a responder may stop this origin as it
        // ends.
        _ = state.withLock { state in
            state.isStopped = true
            for descriptor in state.connections { shutdown(descriptor, Int32(SHUT_RDWR)) }
            defer { state.routes = [:] }
            return state.routes
        }
    }

    func route(_ path: String) -> Route {
        state.withLock { $0.routes[path] }
            ?? Route(readsBody: true) { _ in .response(404) }
    }

    private func serve(_ descriptor: Int32) {
        let isWelcome = state.withLock { state in
            guard !state.isStopped, state.connections.count < connectionsMax else { return false }
            state.connections.insert(descriptor)
            return true
        }
        guard isWelcome else {
            close(descriptor)
            return
        }
        let number = log.change { log in
            log.connectionsAccepted += 1
            log.connectionsOpen += 1
            return log.connectionsAccepted
        }
        startThread {
            OriginConnection(origin: self, descriptor: descriptor, number: number).run()
            // Under the lock, so that stop() never shuts down a descriptor that was reused.
            self.state.withLock { state in
                state.connections.remove(descriptor)
                close(descriptor)
            }
            self.log.change { $0.connectionsOpen -= 1 }
        }
    }
}

/// Blocks until `descriptor` can be read; returns false once the gate is open.
func wait(for descriptor: Int32, unless gate: OriginGate) -> Bool {
    var events = [
        pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
        pollfd(fd: gate.descriptor, events: Int16(POLLIN), revents: 0),
    ]
    while poll(&events, 2, -1) < 0, errno == EINTR {}
    return events[1].revents == 0
}

/// Runs `body` on a thread with a small stack: there can be a thousand of them.
func startThread(_ body: @escaping @Sendable () -> Void) {
    final class Box: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
    let attributes = UnsafeMutablePointer<pthread_attr_t>.allocate(capacity: 1)
    defer { attributes.deallocate() }
    pthread_attr_init(attributes)
    pthread_attr_setstacksize(attributes, 512 * 1024)
    pthread_attr_setdetachstate(attributes, Int32(PTHREAD_CREATE_DETACHED))
    var thread = pthread_t()
    let box = Unmanaged.passRetained(Box(body))
    let code = pthread_create(
        &thread,
        attributes,
        { argument in
            argument.map { Unmanaged<Box>.fromOpaque($0).takeRetainedValue() }?.body()
            return nil
        },
        box.toOpaque()
    )
    precondition(code == 0, "the test process has no thread left for an origin")
    pthread_attr_destroy(attributes)
}
