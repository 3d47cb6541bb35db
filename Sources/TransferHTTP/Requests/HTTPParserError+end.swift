import NIOHTTP1

extension HTTPParserError {
    /// Whether the client's bytes ended within a request, rather than being none of HTTP.
    var isEarlyEnd: Bool { if case .invalidEOFState = self { true } else { false } }
}
