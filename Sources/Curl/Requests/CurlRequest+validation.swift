extension CurlRequest {
    /// The fields that determine where a message ends, which only libcurl may write.
    private static let framingNames = [
        "Content-Length", "Transfer-Encoding", "Connection", "Expect",
    ]

    /// Checks what libcurl would send without a check: the URL, the method and the header lines.
    ///
    /// All checks are on bytes: CR LF is a single `Character`, equal to neither CR nor LF.
    func validated() throws(CurlError) -> CurlURL {
        guard !method.isEmpty, method.utf8.allSatisfy(\.isTokenByte),
            body == nil || bodySource == nil,
            method != "HEAD" || (body == nil && bodySource == nil),
            headers.allSatisfy(Self.isSendable),
            receiveRateMax ?? 1 > 0, sendRateMax ?? 1 > 0
        else { throw CurlError(.invalidRequest) }
        return try url.get()
    }

    private static func isSendable(name: String, value: String) -> Bool {
        let bytes = value.utf8
        return !name.isEmpty && name.utf8.allSatisfy(\.isTokenByte)
            && !framingNames.contains { $0.isEqualIgnoringASCIICase(to: name) }
            && bytes.allSatisfy { ($0 >= .space && $0 != 0x7F) || $0 == .tab }
            && bytes.first != .space && bytes.first != .tab
            && bytes.last != .space && bytes.last != .tab
    }
}
