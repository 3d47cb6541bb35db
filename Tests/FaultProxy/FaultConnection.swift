import PollLoop
import Glibc

/// One client, its connection to the origin, and the bytes between them.
///
/// Confined to the loop's thread.
final class FaultConnection {
    /// One socket.
    private final class Side {
        let descriptor: Int32
        var interest: PollLoop.Readiness = []
        var isBlocked = false

        init(_ descriptor: Int32) { self.descriptor = descriptor }
    }

    /// One direction.
    private final class Lane {
        var queue: FaultQueue
        let target: Side
        let isDown: Bool

        init(_ faults: Faults.Stream, to target: Side, isDown: Bool) {
            queue = FaultQueue(faults)
            self.target = target
            self.isDown = isDown
        }
    }

    private let number: Int
    private unowned let board: FaultProxyBoard
    private let client: Side
    private let origin: Side
    private let down: Lane
    private let up: Lane
    /// Whether the client's bytes are read only to notice when it leaves.
    private var ignoresClient = false
    private var timer: PollLoop.Timer?
    private var isClosed = false

    private static let readBytes = 64 * 1024
    private static let sendFlags = Int32(MSG_NOSIGNAL)

    init(
        _ number: Int,
        client: Int32,
        origin: Int32,
        faults: Faults,
        board: FaultProxyBoard
    ) {
        self.number = number
        self.board = board
        self.client = Side(client)
        self.origin = Side(origin)
        down = Lane(faults.down, to: self.client, isDown: true)
        up = Lane(faults.up, to: self.origin, isDown: false)
    }

    /// Ends the connection with a reset of both sides.
    func abort() { end(Loopback.reset) }

    /// Passes nothing on from now on, in either direction, and stays open until the client leaves.
    func fallSilent() {
        down.queue.end()
        up.queue.end()
        ignoreClient()
        advance()
    }

    /// Performs all steps that are possible now, and watches for the condition of the next.
    func advance() {
        if let timer { board.loop.cancel(timer) }
        timer = nil
        let wakes = [pass(down), pass(up)].compactMap(\.self)
        guard !isClosed else { return }
        if down.queue.isDone, up.queue.isDone, !ignoresClient { return end { close($0) } }
        watch(client, reads: up.queue.room > 0 || ignoresClient)
        watch(origin, reads: down.queue.room > 0)
        guard !isClosed, let wake = wakes.min() else { return }
        timer = board.loop.schedule(after: wake - .now) { [unowned self] in advance() }
    }

    // MARK: Writing

    /// Writes the bytes that may be written, and returns the time of the next that may not yet be.
    private func pass(_ lane: Lane) -> ContinuousClock.Instant? {
        lane.target.isBlocked = false
        while !isClosed {
            let now = ContinuousClock.now
            switch lane.queue.step(at: now) {
            case .write(let count):
                guard write(count, lane, at: now) else { return nil }
            case .wait(let time):
                return time
            case .starve, .done:
                return nil
            case .finish:
                shutdown(lane.target.descriptor, Int32(SHUT_WR))
                lane.queue.end()
            case .fail(let fault):
                fail(fault, lane)
            }
        }
        return nil
    }

    /// Returns whether there may be more to write.
    private func write(_ count: Int, _ lane: Lane, at now: ContinuousClock.Instant) -> Bool {
        let descriptor = lane.target.descriptor
        let written = lane.queue.withFront { bytes in
            send(descriptor, bytes.baseAddress, count, Self.sendFlags)
        }
        if written < 0, errno == EINTR { return true }
        if written < 0, errno == EAGAIN {
            lane.target.isBlocked = true
            return false
        }
        guard written > 0 else {
            abort()
            return false
        }
        lane.queue.written(written, at: now)
        board.count(written, isDown: lane.isDown)
        return true
    }

    private func fail(_ fault: Faults.End, _ lane: Lane) {
        lane.queue.end()
        switch fault {
        case .reset:
            abort()
        case .close:
            shutdown(lane.target.descriptor, Int32(SHUT_WR))
            ignoreClient()
            if lane.isDown {
                up.queue.end()
                shutdown(origin.descriptor, Int32(SHUT_RDWR))
            }
        case .stall:
            if !lane.isDown { ignoreClient() }
        }
    }

    /// Continues to read the client's bytes without passing them on.
    ///
    /// Closing a socket with unread bytes would be a reset, and only reading shows that the client
    /// has left.
    private func ignoreClient() { ignoresClient = true }

    // MARK: Reading

    private func watch(_ side: Side, reads: Bool) {
        var interest: PollLoop.Readiness = []
        if reads { interest.insert(.readable) }
        if side.isBlocked { interest.insert(.writable) }
        guard !isClosed, interest != side.interest else { return }
        side.interest = interest
        // Even without an interest a hang-up would be reported, again and again.
        guard !interest.isEmpty else { return board.loop.deregister(side.descriptor) }
        let isClient = side === client
        do {
            try board.loop.register(side.descriptor, for: interest) { [unowned self] readiness in
                isReady(isClient: isClient, readiness)
            }
        } catch {
            abort()
        }
    }

    private func isReady(isClient: Bool, _ readiness: PollLoop.Readiness) {
        if readiness != .writable { isClient ? readClient() : readOrigin() }
        if !isClosed { advance() }
    }

    private func readClient() {
        guard ignoresClient else { return read(client, into: up) }
        while let bytes = receive(client, room: Self.readBytes) {
            if bytes.isEmpty { return end { close($0) } }
        }
    }

    private func readOrigin() { read(origin, into: down) }

    private func read(_ side: Side, into lane: Lane) {
        let room = lane.queue.room
        guard room > 0, let bytes = receive(side, room: room) else { return }
        if lane.isDown, !bytes.isEmpty, board.mustCutAnswer() { return abort() }
        lane.queue.add(bytes, at: .now)
    }

    /// Returns bytes, none at the end of the stream, or nil when there are none now or ever.
    private func receive(_ side: Side, room: Int) -> [UInt8]? {
        var code: Int32 = 0
        let bytes = [UInt8](
            unsafeUninitializedCapacity: min(room, Self.readBytes)
        ) { buffer, filled in
            let count = recv(side.descriptor, buffer.baseAddress, buffer.count, 0)
            if count < 0 { code = errno }
            filled = max(0, count)
        }
        if code == 0 { return bytes }
        if code != EAGAIN, code != EINTR { abort() }
        return nil
    }

    private func end(_ closing: (Int32) -> Void) {
        guard !isClosed else { return }
        isClosed = true
        if let timer { board.loop.cancel(timer) }
        for side in [client, origin] {
            if !side.interest.isEmpty { board.loop.deregister(side.descriptor) }
            closing(side.descriptor)
        }
        board.forget(number)
    }
}
