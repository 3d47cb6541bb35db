import Curl
import Synchronization
import TransferContainer
import TransferModel

/// The handling of the file that a download writes.
extension Download {
    /// The version of a file, by which a later attempt tells it from others.
    struct Identity {
        let validator: EntityValidator
        /// The size of the whole file.
        let total: Int64
        /// The coding of its bytes; nil without one.
        let coding: String?
        /// Whether they may be from elsewhere than the task's URL.
        var mayBeOfAnother: Bool
    }

    /// Prepares the directory of the file and opens what an earlier attempt left; waits for the
    /// disk.
    func prepare() {
        let kept: (part: PartFile, point: ResponseStateMachine.ResumePoint)?
        do throws(StorageError) {
            kept = try openKept()
        } catch {
            // Nothing of it is lost: the next attempt resumes it.
            let failure = meaning(of: error)
            return state.withLock { $0.machine.failed(failure) }
        }
        var failure: TransferFailure?
        do throws(StorageError) {
            try container.prepareDirectory(of: place)
            failure = try collision()
        } catch {
            failure = meaning(of: error)
        }
        state.withLock { state in
            if let failure { state.machine.failed(failure) }
            state.bytesReceived = kept?.part.bytesWritten ?? 0
            state.bytesExpected = kept?.point.total
            guard let kept else { return }
            state.machine.resume(at: kept.point)
            state.part = kept.part
            state.identity = Identity(
                validator: kept.point.validator,
                total: kept.point.total,
                coding: kept.point.coding,
                mayBeOfAnother: kept.point.mayBeOfAnother
            )
        }
    }

    /// Returns the failure of a task at whose destination there is a file that must stay.
    private func collision() throws(StorageError) -> TransferFailure? {
        guard let destination = claim.destination, !destination.overwrite,
            case let goal = Container.Place(destination.path, tenant: claim.tenant),
            try container.size(of: goal) != nil
        else { return nil }
        return .destinationCollision(at: destination.path)
    }

    /// Returns what an earlier attempt left, if it can be resumed; otherwise the attempt starts
    /// over.
    ///
    /// - Returns: the file, and what is missing of it.
    /// - Throws: the error of a shortage, which says nothing about the file.
    private func openKept() throws(StorageError) -> (
        part: PartFile, point: ResponseStateMachine.ResumePoint
    )? {
        guard let partial = claim.partial, claim.request.method == "GET",
            // Another file may have the same tag, date and length.
            !partial.isOfOtherURL,
            // A range of a coded body cannot be decoded by itself.
            !(claim.options.decompresses ?? false),
            // A date is that of the task's own URL; another server may have another file of that
            // date.
            !claim.isAtMirror || partial.validator.isEntityTag
        else { return nil }
        let place = Container.Place(partOf: claim, fence: partial.partFence)
        do throws(StorageError) {
            if let source = partial.sourcePath {
                try container.adoptPart(
                    from: Container.Place(source, tenant: claim.tenant),
                    to: place
                )
            }
            guard let part = try PartFile(goingOnWith: partial, at: place, in: container),
                let missing = part.written.complement(of: partial.bytesTotal).ranges.first
            else { return nil }
            let point = ResponseStateMachine.ResumePoint(
                range: missing,
                total: partial.bytesTotal,
                validator: partial.validator,
                coding: partial.coding,
                // What came with resume data may have been fetched at a mirror.
                mayBeOfAnother: partial.mayBeOfAnother
                    || partial.validator.isEntityTag
                        && (claim.mayHaveOthersBytes || partial.sourcePath != nil)
            )
            return (part, point)
        } catch {
            guard meaning(of: error).shortage == nil else { throw error }
            return nil
        }
    }

    /// The progress of the attempt so far; while a piece is being written, that before it.
    var progress: AttemptStatus {
        _ = state.withLockIfAvailable { publish($0) }
        return published.withLock(\.self)
    }

    /// Records what ``progress`` is as long as others cannot read the state.
    func publish(_ state: State) {
        let status = state.status
        published.withLock { $0 = status }
    }

    /// Returns the identity of the file that a complete response brings; nil when no later response
    /// could be recognised as the same file.
    func identity(of head: ResponseHead, _ state: State) -> Identity? {
        let mayBeOfAnother = claim.isAtMirror || state.machine.redirects > 0
        // A range of a coded body cannot be decoded by itself.
        guard state.isPlainGET, !(claim.options.decompresses ?? false),
            let total = head.contentLength, total > 0,
            let validator = EntityValidator(
                etag: head["ETag"],
                lastModified: head["Last-Modified"],
                date: head["Date"]
            ),
            // Whoever resumes it could not tell whose date it is.
            !mayBeOfAnother || validator.isEntityTag,
            head.coding?.utf8.count ?? 0 <= Self.codingBytesMax
        else { return nil }
        return Identity(
            validator: validator,
            total: total,
            coding: head.coding,
            mayBeOfAnother: mayBeOfAnother
        )
    }

    /// The longest name of a coding that is kept, in bytes.
    private static let codingBytesMax = 255

    /// Records the checksums that the task and the origin give for the file; those in an
    /// unsuccessful answer do not describe the file, and HEAD brings none of its bytes (RFC 9110
    /// §9.3.2).
    func expectChecksums(_ head: ResponseHead, _ state: inout State) {
        guard (200...299).contains(head.status), state.request.method != "HEAD" else { return }
        state.wanted =
            (claim.options.checksums ?? [])
            + DigestFields.checksums(status: head.status, headers: head.headers)
    }

    /// The size in bytes up to which a file is hashed as it is written: waking another thread costs
    /// more.
    private static let hashedInPassingMax: Int64 = 256 * 1024

    /// Starts computing the wanted checksums while the file is written.
    func beginChecksums(_ state: inout State) {
        guard !state.wanted.isEmpty else { return }
        let algorithms = Set(state.wanted.map(\.algorithm))
        guard let part = state.part else {
            state.hasher = ContentHasher(algorithms)
            return
        }
        let isSmall = state.bytesExpected.map { $0 <= Self.hashedInPassingMax } ?? false
        if isSmall, part.bytesWritten == 0, state.segments == nil {
            state.hasher = ContentHasher(algorithms)
        } else {
            state.follower = verifier.follow(part, algorithms)
        }
    }

    /// Creates a file unless the body is small, in place of one that may have been kept.
    ///
    /// - Returns: false when that failed, and with it the attempt.
    func beginPart(_ head: ResponseHead, _ state: inout State) -> Bool {
        let identity = state.identity
        dropKept(&state)
        state.identity = identity
        if isSmall(head), packs.reserve(state.bytesExpected ?? 0) {
            state.gathered = []
            return true
        }
        do throws(StorageError) {
            state.part = try PartFile(place, fence: claim.fence, in: container)
            return true
        } catch {
            state.machine.failed(meaning(of: error))
            return false
        }
    }

    func meaning(of error: StorageError) -> TransferFailure {
        container.failure(of: error, isChosen: claim.destination != nil)
    }

    /// Drops the kept file because it does not match what the origin has now.
    func dropKept(_ state: inout State) {
        guard let part = state.part else { return }
        state.part = nil
        state.hasher = nil
        state.follower = nil
        state.identity = nil
        state.bytesReceived = 0
        state.dropped = part
    }
}

extension Download.State {
    var status: AttemptStatus {
        AttemptStatus(
            received: bytesReceived,
            expected: bytesExpected,
            isAtOrigin: isAtOrigin,
            resumption: resumption,
            checkpoint: bytesReceived >= Download.checkpointBytes ? keepable : nil
        )
    }

    /// What a later attempt needs to resume the file; nil when it cannot be resumed.
    var keepable: PartialDownload? {
        guard let part, let identity, bytesReceived > 0, bytesReceived <= identity.total else {
            return nil
        }
        // They are stored twice a second from now on: once the file is divided, nobody believes its
        // size.
        let isRanged = part.isSegmented || segments?.mayDivide ?? false
        return PartialDownload(
            partFence: part.fence,
            ranges: isRanged ? part.written : nil,
            bootID: Boot.id,
            bytesDurable: 0,
            bytesTotal: identity.total,
            validator: identity.validator,
            coding: identity.coding,
            mayBeOfAnother: identity.mayBeOfAnother
        )
    }
}

/// The handling of a body that is so small that it is gathered in memory until the attempt ends.
extension Download {
    /// Whether a response brings so little that a file for it alone would be most of its cost.
    private func isSmall(_ head: ResponseHead) -> Bool {
        // Of a coded body only the length before decoding is known.
        guard claim.destination == nil, head["Content-Encoding"] == nil,
            let length = head.contentLength
        else { return false }
        return (1...Int64(Packs.resultBytesMax)).contains(length)
    }

    /// Takes the next bytes of a small body.
    func gather(_ body: UnsafeRawBufferPointer, _ state: inout State) -> SinkVerdict {
        guard state.bytesReceived + Int64(body.count) <= state.bytesExpected ?? 0 else {
            state.machine.failed(
                TransferFailure(.lengthMismatch, "The body is longer than was announced.")
            )
            return .abort
        }
        state.gathered?.reserveCapacity(Int(clamping: state.bytesExpected ?? 0))
        state.gathered?.append(contentsOf: body)
        state.hasher?.update(body)
        state.bytesReceived += Int64(body.count)
        return .proceed
    }

    /// Writes gathered bytes at the end of the attempt: a result goes into a pack; what does not go
    /// there, or what a later attempt may resume, into a file of its own.
    ///
    /// - Returns: the bytes, whoever has written them, and the end, which is now a failure if a
    ///   result could not be written.
    func stored(
        _ end: ResponseStateMachine.End,
        _ state: inout State
    ) -> (part: Part?, end: ResponseStateMachine.End) {
        guard let gathered = state.gathered else { return (state.part.map(Part.file), end) }
        state.gathered = nil
        packs.release(state.bytesExpected ?? 0)
        let isResult = if case .finished = end { true } else { false }
        guard isResult || state.identity != nil && !gathered.isEmpty else { return (nil, end) }
        let bytes = gathered.span
        if isResult, let result = bytes.withUnsafeBytes({ pack($0) }) {
            return (.packed(result), end)
        }
        do throws(StorageError) {
            let file = try PartFile(place, fence: claim.fence, in: container)
            state.part = file
            try bytes.withUnsafeBytes { bytes throws(StorageError) in try file.write(bytes) }
            return (.file(file), end)
        } catch {
            // What was written cannot be relied on.
            state.identity = nil
            return (state.part.map(Part.file), isResult ? .failed(meaning(of: error)) : end)
        }
    }

    private func pack(_ bytes: UnsafeRawBufferPointer) -> PackedResult? {
        packs.add(bytes, of: claim.task, fence: claim.fence, tenant: claim.tenant, at: place)
    }
}
