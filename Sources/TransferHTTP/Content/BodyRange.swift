import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTP1
import NIOPosix
import TransferModel
import TransferWire

/// The range of the whole body that a request brings.
struct BodyRange: Equatable {
    let start: Int64
    /// The position after the last byte; nil when only the end of the request tells.
    let end: Int64?
    let total: Int64?

    static let mismatch = Problem(
        .validationFailed,
        "The body has another length than was announced.",
        errors: [
            FieldError(parameter: "Content-Range", .invalidValue, "Must be as long as the body.")
        ]
    )

    init(_ fields: HTTPFields) throws(Problem) {
        let length = fields.contentLength.map(Int64.init)
        guard let field = fields.value(of: .contentRange) else {
            (start, end, total) = (0, length, length)
            return
        }
        if let total = Self.arrived(field) {
            guard length ?? 0 == 0 else { throw Self.mismatch }
            (start, end, self.total) = (total, total, total)
            return
        }
        guard let range = ContentRange(field), let total = range.total else {
            throw Problem([
                FieldError(
                    parameter: "Content-Range",
                    .invalidValue,
                    "Must be `bytes first-last/total`, or `bytes */total` without a body."
                )
            ])
        }
        guard length.map({ $0 == range.range.upperBound - range.range.lowerBound }) ?? true else {
            throw Self.mismatch
        }
        (start, end, self.total) = (range.range.lowerBound, range.range.upperBound, total)
    }

    /// Returns the total of `bytes */total`, which says that all bytes have arrived.
    private static func arrived(_ field: String) -> Int64? {
        let prefix = "bytes */"
        let digits = field.dropFirst(prefix.count)
        guard field.hasPrefix(prefix), digits.utf8.allSatisfy({ (0x30...0x39).contains($0) })
        else { return nil }
        return Int64(digits)
    }

    /// Whether the request brings the whole body.
    var isWhole: Bool { start == 0 && end == total }

    func isComplete(at size: Int64) -> Bool { total.map { $0 == size } ?? true }
}
