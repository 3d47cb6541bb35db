import TransferModel

/// An origin's response that no pending rename holds, as a row for `unnest`: a table of its own,
/// because few ends have one.
struct ResponseRow {
    let place: Int64
    let httpStatus: Int16
    let responseHead: String
    let partFence: Int64?
    let body: [UInt8]?

    init(_ result: TransferResult, body: [UInt8] = [], part: Fence? = nil, place: Int64) {
        self.place = place
        httpStatus = Int16(clamping: result.httpStatus)
        responseHead = StoredResponseHead.text(of: result)
        partFence = part?.rawValue
        self.body = body.isEmpty ? nil : body
    }
}
