extension CurlRequest {
    /// The data that a transfer moves, as far as it decides which HTTP version serves it best.
    package enum Traffic: Equatable, Sendable {
        /// A webhook message, of whose answer only the head decides anything.
        case message
        /// The request and the response of a data task, in memory: at most a few hundred KiB.
        case data
        /// A file of that many bytes; nil for any number.
        case file(size: Int64?)

        /// The size of the largest file for which sharing a connection with others is as good.
        package static let smallFileBytesMax: Int64 = 1024 * 1024
    }
}

extension CurlRequest.HTTPVersion {
    /// Returns which versions to offer.
    ///
    /// HTTP/2 is for many small things to one host; large files would share one TCP window. Where
    /// its implementation is not sound, a body without a length may be cut unnoticed: then it is
    /// used for webhook messages only, whose answer's body decides nothing, and which are never
    /// paused.
    package static func choice(
        for traffic: CurlRequest.Traffic,
        by library: CurlLibrary = CurlLoop.libraryVersion
    ) -> Self {
        choice(for: traffic, hasHTTP2: library.hasHTTP2, isSound: library.isHTTP2Sound)
    }

    static func choice(
        for traffic: CurlRequest.Traffic,
        hasHTTP2: Bool,
        isSound: Bool
    ) -> Self {
        guard hasHTTP2 else { return .http1 }
        return switch traffic {
        case .message: .negotiated
        case .data: isSound ? .negotiated : .http1
        case .file(let size?) where isSound && size <= CurlRequest.Traffic.smallFileBytesMax:
            .negotiated
        case .file: .http1
        }
    }
}

extension CurlRequest {
    /// Whether HTTP/2 may be used; a stream that is paused must not use an unsound version.
    var offersHTTP2: Bool {
        httpVersion == .negotiated
            && (sharedRates.isEmpty || CurlLoop.libraryVersion.isHTTP2Sound)
    }
}
