extension CurlRequest {
    /// What a transfer moves, as far as that decides which HTTP version serves it best.
    package enum Traffic: Equatable, Sendable {
        /// A few hundred KiB at most, either way and kept in memory, as data tasks and webhooks do.
        case message
        /// A file of that many bytes, or of any number.
        case file(size: Int64?)

        /// The largest file that is as well sent beside others on one connection.
        package static let smallFileBytesMax: Int64 = 1024 * 1024
    }
}

extension CurlRequest.HTTPVersion {
    /// Which versions to offer.
    ///
    /// HTTP/2 is for many small things to one host; large files would share one TCP window. Where
    /// its implementation is not sound it is used for messages only: these are never paused, and
    /// what is wrong with them is seen by their length and costs little to repeat.
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
        case .file(let size?) where isSound && size <= CurlRequest.Traffic.smallFileBytesMax:
            .negotiated
        case .file: .http1
        }
    }
}
