/// Puts the pieces of a body together that arrive in one turn of libcurl, for sinks that take fewer
/// and larger ones; confined to the loop's thread.
///
/// Libcurl gives 16 KiB at most at once (CURL_MAX_WRITE_SIZE), and over TLS what a record brings,
/// from any byte of the body on. Written to a file one by one they cost about as much as decrypting
/// them: each touches a page that the one before has touched, and the kernel keeps the file in
/// small pieces. A sink notices no difference in order: libcurl tells of a body after its head, and
/// of nothing else.
///
/// Nothing stays here between two turns: every call into libcurl is followed by ``deliver()``.
@safe final class PieceGatherer {
    /// The number of bytes after which pieces are delivered.
    private static let bytesMax = 256 * 1024
    /// What is delivered before its turn ends ends at a multiple of this many bytes of the body.
    private static let alignment = 64 * 1024

    private let buffer: UnsafeMutableRawBufferPointer
    /// The number of bytes in the buffer.
    private var count = 0
    /// The transfer whose bytes these are; nil without any.
    private var owner: ActiveTransfer?
    /// The transfers whose sinks have refused what was delivered.
    private var refused: [ActiveTransfer] = []

    init() {
        unsafe buffer = .allocate(byteCount: Self.bytesMax, alignment: 64)
    }

    deinit { unsafe buffer.deallocate() }

    /// Takes the next piece of a body, of which `before` bytes came before it.
    ///
    /// - Returns: whether the transfer goes on.
    func add(
        _ piece: UnsafeRawBufferPointer,
        of transfer: ActiveTransfer,
        after before: Int64
    ) -> Bool {
        if owner !== transfer { deliver() }
        // libcurl gives no such piece, but what fits into the buffer does not depend on that.
        guard piece.count < Self.alignment else {
            return unsafe deliver(keeping: 0) && transfer.deliver(piece)
        }
        if piece.count > Self.bytesMax - count {
            // What is left is less than what the alignment takes away, so the piece has room then.
            guard deliver(keeping: Int(before % Int64(Self.alignment))) else { return false }
        }
        owner = transfer
        unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[count...]).copyMemory(from: piece)
        count += piece.count
        return true
    }

    /// Delivers all pieces.
    func deliver() { deliver(keeping: 0) }

    /// Returns the transfers that cannot go on, once.
    func takeRefused() -> [ActiveTransfer] {
        guard !refused.isEmpty else { return [] }
        defer { refused = [] }
        return refused
    }

    /// Delivers all bytes but the last `rest`.
    @discardableResult
    private func deliver(keeping rest: Int) -> Bool {
        guard let transfer = owner else { return true }
        let end = count - min(rest, count)
        let piece = unsafe UnsafeRawBufferPointer(rebasing: buffer[..<end])
        let kept = unsafe UnsafeRawBufferPointer(rebasing: buffer[end..<count])
        let goesOn = unsafe transfer.deliver(piece)
        guard goesOn, unsafe !kept.isEmpty else {
            (owner, count) = (nil, 0)
            if !goesOn { refused.append(transfer) }
            return goesOn
        }
        unsafe buffer.copyMemory(from: kept)
        count = kept.count
        return true
    }
}
