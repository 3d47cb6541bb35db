import Glibc

/// Serves the requests of one connection on its own thread.
final class OriginConnection {
    private let origin: LoopbackOrigin
    private let descriptor: Int32
    private let number: Int
    private var unread: [UInt8] = []

    private static let headBytesMax = 256 * 1024
    /// Linux's `POLLRDHUP`, which the Glibc module does not show.
    private static let peerHasHungUp: Int16 = 0x2000

    init(origin: LoopbackOrigin, descriptor: Int32, number: Int) {
        self.origin = origin
        self.descriptor = descriptor
        self.number = number
    }

    func run() {
        var one: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, 4)
        while let request = readHead() {
            origin.log.change { log in
                log.requestsOpen += 1
                log.requestsOpenPeak = max(log.requestsOpenPeak, log.requestsOpen)
            }
            let isKept = answer(request)
            origin.log.change { $0.requestsOpen -= 1 }
            guard isKept else { return }
        }
    }

    private func answer(_ head: OriginRequest) -> Bool {
        var request = head
        let route = origin.route(request.path)
        for step in route.beginning?(request).steps ?? [] {
            guard perform(step, path: request.path) else { return false }
        }
        guard !route.readsBody || readBody(of: &request, to: route.taker) else { return false }
        request.numberAtPath = origin.log.change { [request] in $0.add(request) }
        for step in route.responder(request).steps {
            guard perform(step, path: request.path) else { return false }
        }
        return request["Connection"]?.lowercased() != "close"
    }

    /// Performs a step and returns whether the connection stays open.
    private func perform(_ step: OriginScript.Step, path: String) -> Bool {
        switch step {
        case .head(let status, let headers):
            let lines = headers.map { "\($0.name): \($0.value)\r\n" }.joined()
            return send(Array("HTTP/1.1 \(status) Scripted\r\n\(lines)\r\n".utf8))
        case .raw(let bytes):
            return send(bytes)
        case .body(let body, let range):
            return send(body, range ?? 0..<body.count, path: path)
        case .chunks(let body, let size, let isEnded):
            return sendChunks(body, size: size, path: path)
                && (!isEnded || send(Array("0\r\n\r\n".utf8)))
        case .wait(let gate):
            return waitForOpening(gate)
        case .acknowledged:
            return waitForAcknowledgement()
        case .forever(let bytes):
            while send(bytes) {}
            return false
        case .close:
            return false
        case .reset:
            var linger = linger(l_onoff: 1, l_linger: 0)
            setsockopt(
                descriptor,
                SOL_SOCKET,
                SO_LINGER,
                &linger,
                socklen_t(MemoryLayout<linger>.size)
            )
            return false
        }
    }

    private func send(_ body: OriginBody, _ range: Range<Int>, path: String) -> Bool {
        for start in stride(from: range.lowerBound, to: range.upperBound, by: OriginBody.pieceBytes)
        {
            let end = min(start + OriginBody.pieceBytes, range.upperBound)
            guard send(body.bytes(in: start..<end)) else { return false }
            origin.log.change { $0.bytesSent[path, default: 0] += end - start }
        }
        return true
    }

    private func sendChunks(_ body: OriginBody, size: Int, path: String) -> Bool {
        for start in stride(from: 0, to: body.count, by: size) {
            let bytes = body.bytes(in: start..<start + size)
            let line = Array((String(bytes.count, radix: 16) + "\r\n").utf8)
            guard send(line + bytes + [13, 10]) else { return false }
            origin.log.change { $0.bytesSent[path, default: 0] += bytes.count }
        }
        return true
    }

    /// Waits for the gate; returns false when the peer hangs up or the origin stops first.
    private func waitForOpening(_ gate: OriginGate) -> Bool {
        var events = [
            pollfd(fd: gate.descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: origin.stopGate.descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: descriptor, events: Self.peerHasHungUp, revents: 0),
        ]
        while poll(&events, 3, -1) < 0, errno == EINTR {}
        return events[0].revents != 0 && events[1].revents == 0
    }

    /// Waits until no byte is unacknowledged (tcp(7), `SIOCOUTQ`, which is another name).
    private func waitForAcknowledgement() -> Bool {
        var count: Int32 = 0
        repeat {
            guard ioctl(descriptor, UInt(TIOCOUTQ), &count) == 0 else { return false }
            sched_yield()
        } while count > 0
        return true
    }

    private func send(_ bytes: [UInt8]) -> Bool {
        bytes.withUnsafeBytes { buffer in
            var rest = buffer[...]
            while !rest.isEmpty {
                let count = Glibc.send(
                    descriptor,
                    UnsafeRawBufferPointer(rebasing: rest).baseAddress,
                    rest.count,
                    Int32(MSG_NOSIGNAL)
                )
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return false }
                rest = rest.dropFirst(count)
            }
            return true
        }
    }
}

/// The reading of requests.
extension OriginConnection {
    private func readHead() -> OriginRequest? {
        let end: [UInt8] = [13, 10, 13, 10]
        while true {
            if let range = unread.firstRange(of: end) {
                let head = Array(unread[..<range.lowerBound])
                unread.removeSubrange(..<range.upperBound)
                let count = origin.log.nextRequestNumber()
                return OriginRequest(number: count, connection: number, head: head)
            }
            guard unread.count < Self.headBytesMax, receive() else { return nil }
        }
    }

    private func readBody(
        of request: inout OriginRequest,
        to taker: LoopbackOrigin.BodyTaker?
    ) -> Bool {
        if request["Transfer-Encoding"] != nil { return readChunks(of: &request, to: taker) }
        guard let length = request["Content-Length"].flatMap({ Int($0) }) else { return true }
        return take(length, of: &request, to: taker)
    }

    private func readChunks(
        of request: inout OriginRequest,
        to taker: LoopbackOrigin.BodyTaker?
    ) -> Bool {
        while true {
            guard let line = readLine(), let size = Int(line, radix: 16) else { return false }
            guard take(size, of: &request, to: taker), readLine() != nil else { return false }
            if size == 0 { return true }
        }
    }

    private func take(
        _ count: Int,
        of request: inout OriginRequest,
        to taker: LoopbackOrigin.BodyTaker?
    ) -> Bool {
        var missing = count
        while missing > 0 {
            if unread.isEmpty, !receive() { return false }
            let taken = unread.prefix(missing)
            missing -= taken.count
            request.bodyCount += taken.count
            request.body += taken.prefix(OriginRequest.bodyKeptMax - request.body.count)
            if let taker, !taker(request, taken) { return perform(.reset, path: request.path) }
            unread.removeFirst(taken.count)
        }
        return true
    }

    private func readLine() -> String? {
        while true {
            if let range = unread.firstRange(of: [13, 10]) {
                let line = String(decoding: unread[..<range.lowerBound], as: UTF8.self)
                unread.removeSubrange(..<range.upperBound)
                return line
            }
            guard unread.count < Self.headBytesMax, receive() else { return nil }
        }
    }

    private func receive() -> Bool {
        var buffer = [UInt8](repeating: 0, count: 16 * 1024)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            unread += buffer[..<count]
            return true
        }
    }
}
