/// Work that is stored for owners of whom there may be any number: sessions, clients, answers.
package enum WaitingWork {
    /// Does a part of the work of each owner.
    ///
    /// An owner whose part fails is left for the next call, and does not delay the rest.
    ///
    /// - Parameters:
    ///   - batchMax: The number of owners that one search finds at most.
    ///   - find: Returns the owners after one of them, or the first, in order.
    ///   - part: Does a part of an owner's work, and returns how much that was.
    /// - Returns: how much was done for all; there may be more unless it is zero.
    /// - Throws: the first failure, if nothing was done.
    package static func advance<Owner>(
        inBatchesOf batchMax: Int,
        _ find: (_ last: Owner?) async throws(StoreError) -> [Owner],
        part: (Owner) async throws(StoreError) -> Int
    ) async throws(StoreError) -> Int {
        var done = 0
        var failure: StoreError?
        var last: Owner?
        repeat {
            let owners = try await find(last)
            for owner in owners {
                do throws(StoreError) {
                    done += try await part(owner)
                } catch {
                    failure = failure ?? error
                }
            }
            last = owners.count == batchMax ? owners.last : nil
        } while last != nil
        if let failure, done == 0 { throw failure }
        return done
    }
}
