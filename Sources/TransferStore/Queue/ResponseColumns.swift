import TransferModel

/// The origin's responses that no pending rename holds; a table of their own, because few ends have
/// one.
struct ResponseColumns {
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
