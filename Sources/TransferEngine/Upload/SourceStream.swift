import Curl
import Foundation
import Synchronization
import TransferModel

/// The body of a copy, as another origin sends it, from some byte on.
///
/// It is the sink of one transfer and the source of another. The bytes between them are in a buffer
/// of bounded size: each waits while the other has to catch up. It is used once; a body that has to
/// be sent again is asked for again.
final class SourceStream: CurlSink, CurlBodySource {
    /// What the source sends, as far as its answer says so.
    struct Identity: Equatable, Sendable {
        /// The number of bytes of the whole; nil when the source does not tell it in advance.
        let length: Int64?
        /// Nil when nothing tells the bytes from later ones.
        let validator: EntityValidator?
    }

    /// The two transfers, as connections of the attempt.
    enum Connection {
        static let destination = 0
        static let source = 1
    }

    /// The bytes that may be between the two transfers: enough for either to go on while the other
    /// has its turn, and few enough for each of a worker's transfers to be a copy.
    static let bufferBytesMax = 256 * 1024

    private struct State {
        var machine: ResponseStateMachine
        var headers: [HTTPHeader]
        /// The version that is wanted from some byte on; nil for all of any version.
        let point: ResponseStateMachine.ResumePoint?
        /// Whether what arrives is no part of the body.
        var isDiscarding = false
        var discarded = 0
        /// Of no more than the body has, once that is known.
        var ring = ByteRing(capacity: 0)
        /// Where the body begins for the destination; what arrives before it is dropped.
        var start: Int64
        /// The bytes that have arrived, with those before the first that was sent.
        var received: Int64
        /// The bytes that were given to the destination, with those before the start.
        var position: Int64
        var identity: Identity?
        var fields: [HTTPHeader] = []
        var isWhole = false
        var failure: TransferFailure?
        var isSinkWaiting = false
        var isSourceWaiting = false
        var onOpen: (@Sendable (Result<Identity, TransferFailure>) -> Void)?

        /// Whether the next byte that arrives is for the destination.
        var isAtStart: Bool { received >= start }

        /// Whether so many bytes more are within the length that the source has told.
        func mayReceive(_ count: Int) -> Bool {
            identity?.length.map { Int64(count) <= $0 - received } ?? true
        }

        /// Begins with what the source sends from its first byte on.
        mutating func receiveAll(of identity: Identity) {
            self.identity = identity
            received = 0
            // All of the wanted version, where a part of it was asked for, has that part in it.
            start = point.map { identity == Identity($0) ? $0.range.lowerBound : 0 } ?? 0
            position = start
        }
    }

    private let claim: TaskClaim
    /// When the time of the task is over, for all requests of the source together.
    private let deadline: ContinuousClock.Instant
    private let connections: Connections
    private let configuration: EngineConfiguration
    private let state: Mutex<State>

    /// Creates a stream that starts at `point`, in bytes of a known version, or with nil at the
    /// start of any version.
    ///
    /// `onOpen` is called once, on the loop's thread: when the source has begun to send a body,
    /// from ``position`` on, or when it will not.
    init(
        _ url: CurlURL,
        headers: [HTTPHeader],
        of claim: TaskClaim,
        from point: ResponseStateMachine.ResumePoint?,
        deadline: ContinuousClock.Instant,
        connections: Connections,
        configuration: EngineConfiguration,
        onOpen: @escaping @Sendable (Result<Identity, TransferFailure>) -> Void
    ) {
        self.claim = claim
        self.deadline = deadline
        self.connections = connections
        self.configuration = configuration
        state = Mutex(
            State(
                machine: ResponseStateMachine(
                    url: url,
                    redirectsMax: claim.options.redirectsMax ?? TransferOptions.redirectsMaxDefault,
                    bodyBytesMax: configuration.fileBytesMax,
                    resumePoint: point
                ),
                headers: headers,
                point: point,
                start: point?.range.lowerBound ?? 0,
                received: point?.range.lowerBound ?? 0,
                position: point?.range.lowerBound ?? 0,
                onOpen: onOpen
            )
        )
    }

    /// How much of the body has arrived, with the bytes before the first that was asked for.
    var received: Int64 { state.withLock { $0.received } }

    /// How far the destination was given the body.
    var position: Int64 { state.withLock { $0.position } }

    /// The number of bytes from the start on; nil when the source does not tell it in advance.
    var length: Int64? {
        state.withLock { state in state.identity?.length.map { $0 - state.position } }
    }

    /// What describes the body, as the source has named it.
    var fields: [HTTPHeader] { state.withLock { $0.fields } }

    /// The reason why the body does not go on; nil as long as it does.
    var failure: TransferFailure? { state.withLock { $0.failure } }

    /// Whether the next byte that it gives is that at `offset`.
    func isAt(_ offset: Int64) -> Bool {
        state.withLock { $0.position == offset && $0.failure == nil && $0.onOpen == nil }
    }

    /// Sends the request to the source.
    func open() {
        let request = state.withLock { state -> CurlRequest? in
            guard state.machine.mayRequest else { return nil }
            var request = CurlRequest(
                url: state.machine.url,
                headers: state.headers.map { ($0.name, $0.value) },
                egress: configuration.egress
            )
            request.apply(
                claim,
                remaining: deadline - .now,
                isAtOrigin: false,
                cookies: nil,
                userAgent: configuration.userAgent
            )
            request.isReplayable = true
            // What is sent on is what the source has, in the coding that it names.
            request.decodesBody = false
            if !request.headers.contains(where: { $0.name.lowercased() == "accept-encoding" }) {
                request.headers.append(("accept-encoding", "identity"))
            }
            request.bodyBytesMax = configuration.fileBytesMax
            if let point = state.machine.resumePoint { request.resume(at: point) }
            return request
        }
        guard let request else { return connections.refuse(self) }
        connections.start(request, as: Connection.source, sink: self)
    }

    /// Gives the body up.
    func close() {
        state.withLock { $0.onOpen = nil }
        connections.cancel(Connection.source)
    }
}

/// What the curl loop's thread tells of the source.
extension SourceStream {
    func receive(head: ResponseHead) -> SinkVerdict {
        let (verdict, opening) = state.withLock { state -> (SinkVerdict, (() -> Void)?) in
            // That there is no content is not the content of an empty file.
            if [204, 205].contains(head.status) { state.machine.failed(.noSource) }
            switch state.machine.received(head) {
            case .receive:
                state.receiveAll(of: Identity(head, isRedirected: state.machine.redirects > 0))
            case .append: state.identity = state.machine.resumePoint.map { Identity($0) }
            case .discard:
                (state.isDiscarding, state.discarded) = (true, 0)
                return (.discard, nil)
            case .abort: return (.abort, nil)
            }
            let length = state.identity?.length.map { Int(clamping: $0 - state.position) }
            state.ring = ByteRing(
                capacity: min(length ?? Self.bufferBytesMax, Self.bufferBytesMax)
            )
            state.fields = head.headers.compactMap { name, value in
                ["content-type", "content-encoding"].contains(name.lowercased())
                    ? HTTPHeader(name: name, value: value) : nil
            }
            return (.proceed, state.isAtStart ? opened(&state) : nil)
        }
        opening?()
        return verdict
    }

    /// Returns the call that tells of the source's answer, once.
    private func opened(_ state: inout State) -> (() -> Void)? {
        guard let onOpen = state.onOpen else { return nil }
        state.onOpen = nil
        let result: Result<Identity, TransferFailure>
        if let identity = state.identity, state.failure == nil {
            result = .success(identity)
        } else {
            result = .failure(state.failure ?? TransferFailure(CurlError(.cancelled)).ofSource)
        }
        return { onOpen(result) }
    }

    func receive(body: UnsafeRawBufferPointer) -> SinkVerdict {
        let (verdict, wakesDestination, opening) = state.withLock {
            state -> (SinkVerdict, Bool, (() -> Void)?) in
            guard !state.isDiscarding else {
                state.discarded += body.count
                let isSmall = state.discarded <= ResponseStateMachine.discardedBytesMax
                return (isSmall ? .proceed : .abort, false, nil)
            }
            guard state.mayReceive(body.count) else {
                // The destination is told when this transfer has ended.
                state.machine.failed(.surplus)
                return (.abort, false, nil)
            }
            let early = Int(clamping: max(0, state.start - state.received))
            let piece = UnsafeRawBufferPointer(rebasing: body.dropFirst(early))
            guard unsafe state.ring.append(piece) else {
                state.isSinkWaiting = true
                return (.later, false, nil)
            }
            state.received += Int64(body.count)
            defer { state.isSourceWaiting = false }
            return (.proceed, state.isSourceWaiting, state.isAtStart ? opened(&state) : nil)
        }
        if wakesDestination { connections.proceed(Connection.destination) }
        opening?()
        return verdict
    }

    func finish(_ result: Result<CurlSummary, CurlError>) {
        let (asksAgain, opening) = state.withLock { state -> (Bool, (() -> Void)?) in
            if connections.isRefusal(result) { state.machine.abandoned() }
            switch state.machine.finished(result, bytesWritten: state.received) {
            case .follow(_, let dropsSecrets):
                state.isDiscarding = false
                if dropsSecrets { state.headers.removeAll { !$0.isHarmless } }
                return (true, nil)
            case .restart:
                state.isDiscarding = false
                return (true, nil)
            case .end(.finished(let result)):
                if result.isLengthVerified {
                    state.isWhole = true
                } else {
                    state.failure = .unverifiedSource
                }
            case .end(.failed(let failure)): state.failure = failure.ofSource
            case .end(.abandoned):
                state.failure = TransferFailure(CurlError(.cancelled)).ofSource
            }
            return (false, opened(&state))
        }
        if asksAgain { return open() }
        opening?()
        // Whatever has become of the body, the destination is told by its next read.
        connections.proceed(Connection.destination)
    }
}

/// What the destination's transfer reads.
extension SourceStream {
    func read(into buffer: UnsafeMutableRawBufferPointer) -> BodyRead {
        let (read, wakesSource) = state.withLock { state -> (BodyRead, Bool) in
            let count = unsafe state.ring.take(into: buffer)
            guard count > 0 else {
                if state.failure != nil { return (.failed, false) }
                if state.isWhole { return (.bytes(0), false) }
                state.isSourceWaiting = true
                return (.later, false)
            }
            state.position += Int64(count)
            let wakesSource = state.isSinkWaiting && state.ring.room >= state.ring.capacity / 2
            if wakesSource { state.isSinkWaiting = false }
            return (.bytes(count), wakesSource)
        }
        if wakesSource { connections.proceed(Connection.source) }
        return read
    }

    /// What was given is no longer there.
    func rewind() -> Bool { false }
}

extension SourceStream.Identity {
    /// Creates the identity of what a whole answer brings.
    fileprivate init(_ head: ResponseHead, isRedirected: Bool) {
        let validator = EntityValidator(
            etag: head["ETag"],
            lastModified: head["Last-Modified"],
            date: head["Date"]
        )
        // A redirect may lead to another server each time, whose file has the same date.
        let isProof = !isRedirected || validator?.isEntityTag ?? false
        self.init(length: head.contentLength, validator: isProof ? validator : nil)
    }

    /// Creates the identity of what a part was asked of.
    fileprivate init(_ point: ResponseStateMachine.ResumePoint) {
        self.init(length: point.total, validator: point.validator)
    }

    /// A text that another body would change; nil when nothing tells the bytes from others.
    var version: String? {
        guard let length, let validator else { return nil }
        return "\(length) \(validator.value)"
    }

    /// Reads ``version``; nil for any other text.
    init?(version: String) {
        let parts = version.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, let length = Int64(parts[0]) else { return nil }
        self.init(length: length, validator: EntityValidator(stored: String(parts[1])))
    }

    /// The beginning of what stands for the version of a source that tells none.
    static let unprovenPrefix = "unproven "

    /// Returns ``version``, or a text that belongs to this attempt alone.
    func version(in attempt: Fence) -> String { version ?? "\(Self.unprovenPrefix)\(attempt)" }
}

extension TransferFailure {
    /// The failure of a source that goes on after the end that it has announced.
    fileprivate static let surplus = TransferFailure(
        .lengthMismatch,
        "The body is longer than was announced."
    )

    /// The failure of a source whose success brings nothing (RFC 9110 §15.3.5, §15.3.6).
    fileprivate static let noSource = TransferFailure(
        .sourceMissing,
        "The server has answered that there is no content."
    )

    /// The failure of a source that does not say where its body ends.
    fileprivate static let unverifiedSource = TransferFailure(
        .sourceUnavailable,
        "The source of the copy does not say where its body ends, so that a part could pass as all."
    ).final

    static let sourceWithoutLength = TransferFailure(
        .sourceUnavailable,
        "The source of the copy does not tell its length, which a resumable upload needs."
    ).final

    static let sourceChangedMeanwhile = TransferFailure(
        .sourceChanged,
        "The source of the copy was changed after a part of it had been sent."
    )

    /// The next attempt begins again, because nothing kept of this one names a version.
    static let sourceWithoutValidator = TransferFailure(
        .sourceUnavailable,
        "The source of the copy does not tell its version, so that its rest cannot be asked for."
    )

    /// This failure of the source of a copy, which says nothing about the task's own host.
    var ofSource: TransferFailure {
        let code: Code =
            switch self.code {
            case .httpStatus: isRetryable ? .sourceUnavailable : .sourceMissing
            case .couldNotResolveHost, .couldNotConnect, .timedOut, .connectionLost,
                .lengthMismatch, .badResponse, .proxyAuthenticationRequired:
                .sourceUnavailable
            default: self.code
            }
        var failure = TransferFailure(
            code,
            "The source of the copy: \(message)",
            retryAfter: retryAfter
        )
        failure.isFinal = isFinal
        failure.isAboutHost = false
        return failure
    }
}
