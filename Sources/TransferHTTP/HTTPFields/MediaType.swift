import TransferModel

/// The media type that an origin gave its content, as far as it may be repeated.
enum MediaType {
    static let unknown = "application/octet-stream"

    /// Returns `type` when it has the form of a media type (RFC 9110 §8.3.1), otherwise the type of
    /// arbitrary bytes.
    static func acceptable(_ type: String?) -> String {
        guard let type else { return unknown }
        let parts = Array(type.utf8).split(
            separator: UInt8(ascii: ";"),
            maxSplits: 1,
            omittingEmptySubsequences: false
        )
        let names = parts[0].split(
            separator: UInt8(ascii: "/"),
            omittingEmptySubsequences: false
        )
        let isType =
            names.count == 2
            && names.allSatisfy { !$0.isEmpty && $0.allSatisfy(HTTPHeader.isTokenByte) }
        let hasPlainParameters = parts.dropFirst().allSatisfy { parameters in
            parameters.allSatisfy { (0x20...0x7E).contains($0) }
        }
        return isType && hasPlainParameters ? type : unknown
    }
}
