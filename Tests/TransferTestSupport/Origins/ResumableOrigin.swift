import Synchronization

/// An origin that continues uploads where it has stopped; bytes count as soon as they arrive.
///
/// Uploads begin at `/in`, and each has a place of its own.
package final class ResumableOrigin: Sendable {
    /// How the origin speaks of uploads.
    package enum Dialect: String, CaseIterable, Sendable {
        case ietf, tus
        case contentRange = "content_range"
    }

    /// What the origin has of an upload.
    package struct Upload: Sendable {
        package fileprivate(set) var bytes: [UInt8] = []
        package fileprivate(set) var isComplete = false
        fileprivate let length: Int
        /// The request that may add bytes: the newest one.
        fileprivate var writer: Int
    }

    /// An event in the middle of a body.
    package enum Interruption: Sendable {
        /// The connection is reset once an upload has so many bytes and the gate, if any, is open.
        case reset(at: Int, after: OriginGate? = nil)
        /// No more is read until the gate opens.
        case wait(at: Int, OriginGate)

        fileprivate var place: Int {
            switch self {
            case .reset(let place, _), .wait(let place, _): place
            }
        }
    }

    private struct State {
        var uploads: [Upload] = []
        /// The uploads by the numbers of the requests that began them.
        var begun: [Int: Int] = [:]
        var bytesReceived = 0
        var requests: [OriginRequest] = []
        var interruptions: [Interruption]
    }

    /// What answers.
    package let server: LoopbackOrigin
    private let dialect: Dialect
    private let refusal: @Sendable (OriginRequest) -> OriginScript?
    private let place: @Sendable (String) -> String
    private let state: Mutex<State>

    /// The answer to a whole body.
    package static let answer = OriginBody.text("stored")

    /// Starts an origin.
    ///
    /// - Parameters:
    ///   - dialect: how it speaks.
    ///   - interruptions: what happens to bodies, one after the other.
    ///   - refusal: returns an answer that takes the place of the right one.
    ///   - place: returns the `Location` for a path; the path itself unless given.
    /// - Throws: ``HeldPort/Failure``.
    package init(
        _ dialect: Dialect,
        _ interruptions: [Interruption] = [],
        refusal: @escaping @Sendable (OriginRequest) -> OriginScript? = { _ in nil },
        place: @escaping @Sendable (String) -> String = { $0 }
    ) throws(HeldPort.Failure) {
        server = try LoopbackOrigin()
        self.dialect = dialect
        self.refusal = refusal
        self.place = place
        state = Mutex(State(interruptions: interruptions))
        route("/in")
    }

    deinit { server.stop() }

    /// The URL at which uploads begin.
    package var url: String { server.url("/in") }

    /// All uploads in the order of their beginnings.
    package var uploads: [Upload] { state.withLock { $0.uploads } }

    /// All requests so far, also those whose bodies were interrupted.
    package var requests: [OriginRequest] { state.withLock { $0.requests } }

    /// The bytes of bodies that have arrived, in all requests together.
    package var bytesReceived: Int { state.withLock { $0.bytesReceived } }

    private func route(_ path: String) {
        server.when(path) { [weak self] request in
            self?.begin(request) ?? OriginScript([.close])
        } taking: { [weak self] request, bytes in
            self?.take(bytes, of: request) ?? false
        } _: { [weak self] request in
            self?.answer(request) ?? OriginScript([.close])
        }
    }

    private func path(of upload: Int) -> String { "/uploads/\(upload)" }

    private func begin(_ request: OriginRequest) -> OriginScript {
        let begun: Int? = state.withLock { state in
            state.requests.append(request)
            guard refusal(request) == nil else { return nil }
            guard request.path == "/in" else {
                guard let index = upload(of: request, state) else { return nil }
                // Whoever comes last has the upload.
                state.uploads[index].writer =
                    offset(of: request)
                    .map { $0 == state.uploads[index].bytes.count ? request.number : -1 } ?? -1
                return nil
            }
            let fields = ["Upload-Length", "X-Upload-Content-Length"]
            let length = fields.compactMap { request[$0].flatMap { Int($0) } }.first
            state.begun[request.number] = state.uploads.count
            state.uploads.append(Upload(length: length ?? 0, writer: request.number))
            return state.uploads.count - 1
        }
        guard let begun else { return OriginScript([]) }
        route(path(of: begun))
        guard dialect == .ietf else { return OriginScript([]) }
        return OriginScript([
            .head(
                104,
                [("Location", location(of: begun)), ("Upload-Draft-Interop-Version", "8")]
            )
        ])
    }

    private func location(of upload: Int) -> String { place("\(path(of: upload))?key=secret") }

    private func take(_ bytes: ArraySlice<UInt8>, of request: OriginRequest) -> Bool {
        var rest = bytes
        while !rest.isEmpty {
            let interruption: Interruption? = state.withLock { state in
                guard let index = upload(of: request, state),
                    state.uploads[index].writer == request.number
                else {
                    rest = []
                    return nil
                }
                let next = state.interruptions.first
                let room = next.map { max(0, $0.place - state.uploads[index].bytes.count) }
                let taken = rest.prefix(room ?? .max)
                state.uploads[index].bytes += taken
                state.bytesReceived += taken.count
                rest = rest.dropFirst(taken.count)
                guard let next, state.uploads[index].bytes.count >= next.place else { return nil }
                state.interruptions.removeFirst()
                return next
            }
            switch interruption {
            case nil: break
            case .reset(_, let gate):
                if let gate { _ = wait(for: gate.descriptor, unless: server.stopGate) }
                return false
            case .wait(_, let gate):
                guard wait(for: gate.descriptor, unless: server.stopGate) else { return false }
            }
        }
        return true
    }

    private func upload(of request: OriginRequest, _ state: State) -> Int? {
        if let begun = state.begun[request.number] { return begun }
        guard request.path.hasPrefix("/uploads/") else { return nil }
        return Int(request.path.dropFirst("/uploads/".count))
    }

    /// Where the body of a request begins; nil for one that only asks.
    private func offset(of request: OriginRequest) -> Int? {
        guard dialect == .contentRange else {
            return request["Upload-Offset"].flatMap { Int($0) }
        }
        let range = request["Content-Range"]?.dropFirst("bytes ".count) ?? "*"
        return Int(range.prefix { $0 != "-" })
    }

    private func answer(_ request: OriginRequest) -> OriginScript {
        if let refusal = refusal(request) { return refusal }
        return state.withLock { state in
            guard let index = upload(of: request, state) else { return .response(404) }
            let isWriter = state.uploads[index].writer == request.number
            guard isWriter || offset(of: request) == nil else { return .response(409) }
            let upload = state.uploads[index]
            if isWriter || dialect == .contentRange,
                upload.bytes.count == upload.length,
                request.path != "/in" || dialect == .ietf
            {
                state.uploads[index].isComplete = true
            }
            return script(for: request, state.uploads[index], at: location(of: index))
        }
    }

    private func script(
        for request: OriginRequest,
        _ upload: Upload,
        at location: String
    ) -> OriginScript {
        let count = "\(upload.bytes.count)"
        switch dialect {
        case .ietf:
            let complete = (name: "Upload-Complete", value: upload.isComplete ? "?1" : "?0")
            guard request.method == "HEAD" else {
                return .response(201, headers: [complete], body: Self.answer)
            }
            let length = "\(upload.length)"
            return .response(
                204,
                headers: [("Upload-Offset", count), ("Upload-Length", length), complete]
            )
        case .tus:
            if request.path == "/in" { return .response(201, headers: [("Location", location)]) }
            return .response(
                request.method == "HEAD" ? 200 : 204,
                headers: [("Upload-Offset", count), ("Upload-Length", "\(upload.length)")]
            )
        case .contentRange:
            if request.path == "/in" { return .response(headers: [("Location", location)]) }
            if upload.isComplete { return .response(201, body: Self.answer) }
            guard !upload.bytes.isEmpty else { return .response(308) }
            return .response(308, headers: [("Range", "bytes=0-\(upload.bytes.count - 1)")])
        }
    }
}
