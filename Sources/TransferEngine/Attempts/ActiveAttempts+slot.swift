import TransferModel

extension ActiveAttempts {
    /// An attempt, and what was reported of it.
    struct Slot {
        enum Phase {
            case waiting
            /// It has a connection, with that number among those to its host.
            case begun(number: Int)
            /// Abandoned before there was a connection for it, and now ending.
            case dismissed
        }

        let attempt: any TransferAttempt
        var phase = Phase.waiting
        /// The progress that was stored; nil for an attempt that has not lasted.
        private var stored: Stored?
        /// The speed of the attempt, and what events have reported of it.
        private var speed: Speed?

        init(_ attempt: any TransferAttempt) { self.attempt = attempt }

        /// What has changed in an attempt.
        struct News {
            /// The progress to store; nil where it is the stored one.
            var progress: AttemptProgress?
            var resumption: Resumption?
            /// The attempt, if it has exchanged bytes with its own host.
            var heard: TaskClaim?
        }

        private struct Stored {
            var received: Int64 = 0
            var sent: Int64 = 0
            var bytesPerSecond: Int64 = 0
            /// The part file of the last checkpoint.
            var checkpoint: PartialDownload?
            var isResumptionTold = false
        }

        private struct Speed {
            var rate: RecentRate
            var toldBytes: Int64 = 0
            var toldAt: ContinuousClock.Instant

            /// Whether an event is to report `bytes` now: forward only, and not too often.
            mutating func tells(
                _ bytes: Int64,
                every interval: Duration,
                at now: ContinuousClock.Instant
            ) -> Bool {
                guard bytes > toldBytes, now - toldAt >= interval else { return false }
                toldBytes = bytes
                toldAt = now
                return true
            }
        }

        /// Returns what has changed since the last call, now that the attempt is at `now`.
        mutating func takeNews(
            from now: AttemptStatus,
            at instant: ContinuousClock.Instant
        ) -> News {
            let claim = attempt.claim
            var last = stored ?? Stored()
            var news = News()
            if let resumption = now.resumption, !last.isResumptionTold {
                news.resumption = resumption
                last.isResumptionTold = true
                stored = last
            }
            let (rate, isTold) = noteSpeed(of: now.received + now.sent - now.skipped, at: instant)
            let hasMoved = now.received != last.received || now.sent != last.sent
            // Bytes that were there before the attempt started were not received from the host.
            if stored != nil, now.isAtOrigin, hasMoved { news.heard = claim }
            let checkpoint = last.checkpoint == now.checkpoint ? nil : now.checkpoint
            guard hasMoved || rate != last.bytesPerSecond || isTold || checkpoint != nil else {
                return news
            }
            news.progress = AttemptProgress(
                task: claim.task,
                fence: claim.fence,
                bytesReceived: now.received,
                bytesExpected: now.expected,
                bytesSent: now.sent,
                bytesToSend: now.toSend,
                bytesPerSecond: rate,
                isTold: isTold,
                checkpoint: checkpoint
            )
            last.received = now.received
            last.sent = now.sent
            last.bytesPerSecond = rate
            last.checkpoint = now.checkpoint
            stored = last
            return news
        }

        /// Returns the rate now that `moved` bytes have moved, and whether an event is to report
        /// them.
        private mutating func noteSpeed(
            of moved: Int64,
            at instant: ContinuousClock.Instant
        ) -> (rate: Int64, isTold: Bool) {
            var speed =
                speed
                ?? Speed(
                    rate: RecentRate(moved, at: instant),
                    // Bytes left by earlier attempts are no news.
                    toldBytes: attempt.claim.partial == nil ? 0 : moved,
                    toldAt: instant
                )
            speed.rate.note(moved, at: instant)
            let isTold =
                attempt.claim.options.progressInterval.map {
                    speed.tells(moved, every: $0, at: instant)
                } ?? false
            self.speed = speed
            return (speed.rate.value, isTold)
        }

        /// Forgets what was recorded as stored, because it was not stored.
        mutating func restore() { stored = nil }
    }
}
