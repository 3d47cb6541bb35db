/// Bytes in the order of their arrival, up to a fixed number.
struct ByteRing {
    private var bytes: [UInt8]
    private var start = 0
    private(set) var count = 0

    /// Creates an empty ring.
    init(capacity: Int) { bytes = Array(repeating: 0, count: capacity) }

    var capacity: Int { bytes.count }
    var room: Int { capacity - count }

    /// Appends all of `piece`, or nothing when there is no room for it.
    mutating func append(_ piece: UnsafeRawBufferPointer) -> Bool {
        guard piece.count <= room else { return false }
        let first = wrapped(start + count)
        let head = min(piece.count, capacity - first)
        bytes.withUnsafeMutableBytes { bytes in
            unsafe bytes[first..<first + head].copyBytes(from: piece[..<head])
            unsafe bytes[..<(piece.count - head)].copyBytes(from: piece[head...])
        }
        count += piece.count
        return true
    }

    /// Moves the first bytes into `buffer`, as many as there are and fit, and returns their number.
    mutating func take(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let taken = min(buffer.count, count)
        let head = min(taken, capacity - start)
        bytes.withUnsafeBytes { bytes in
            unsafe buffer[..<head].copyBytes(from: bytes[start..<start + head])
            unsafe buffer[head..<taken].copyBytes(from: bytes[..<(taken - head)])
        }
        start = wrapped(start + taken)
        count -= taken
        return taken
    }

    private func wrapped(_ place: Int) -> Int { place < capacity ? place : place - capacity }
}
