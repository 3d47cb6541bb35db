import Testing
import TransferTestSupport

@testable import TransferEngine

@Suite struct ByteRingTests {
    /// Against an array, over all sizes of a small ring.
    @Test(arguments: 0...7)
    func givesWhatItTookInOrder(capacity: Int) {
        var ring = ByteRing(capacity: capacity)
        var model: [UInt8] = []
        var generator = SeededGenerator(state: UInt64(capacity))
        var next: UInt8 = 0
        for _ in 0..<2000 {
            if Bool.random(using: &generator) {
                let piece = (0..<Int.random(in: 0...capacity, using: &generator)).map { _ in
                    next &+= 1
                    return next
                }
                let fits = piece.count <= capacity - model.count
                #expect(piece.withUnsafeBytes { ring.append($0) } == fits)
                if fits { model += piece }
            } else {
                var buffer = [UInt8](
                    repeating: 0,
                    count: .random(in: 0...capacity, using: &generator)
                )
                let taken = buffer.withUnsafeMutableBytes { ring.take(into: $0) }
                #expect(Array(buffer[..<taken]) == Array(model.prefix(buffer.count)))
                model.removeFirst(taken)
            }
            #expect(ring.count == model.count)
            #expect(ring.room == capacity - model.count)
        }
    }
}
