extension TaskValues {
    /// The most units of a task, more than any file has bytes: Foundation multiplies them.
    private static let unitsMax: Int64 = 1 << 53

    /// The bytes of the task; those of an upload are the ones it sends.
    func progress(of kind: TransferTask.Kind) -> ProgressMirror.Values {
        let isUpload = kind == .upload
        let completed = min(isUpload ? bytesSent : bytesReceived, Self.unitsMax)
        let expected = isUpload ? bytesExpectedToSend : bytesExpected
        // Foundation of Linux traps when the completed units of none change.
        let total = expected > 0 ? min(expected, Self.unitsMax) : -1
        guard case .success = end else {
            return ProgressMirror.Values(total: total, completed: completed)
        }
        // A progress without units would not be finished.
        let all = max(completed, total, 1)
        return ProgressMirror.Values(total: all, completed: all)
    }

    /// Returns what the session's progress has to add to be as the task is now.
    mutating func takeChange(of kind: TransferTask.Kind) -> TaskShare {
        let now = share(of: kind)
        defer { share = now }
        return now.change(since: share)
    }

    private func share(of kind: TransferTask.Kind) -> TaskShare {
        guard isResumed else { return TaskShare() }
        guard end == nil else {
            return TaskShare(tasks: 1, ended: 1, units: TaskShare.unitsOfTask)
        }
        let values = progress(of: kind)
        guard values.total > 0 else { return TaskShare(tasks: 1) }
        let part = min(Double(values.completed) / Double(values.total), 1)
        // Only its end completes a task.
        let units = min(Int64(part * Double(TaskShare.unitsOfTask)), TaskShare.unitsOfTask - 1)
        return TaskShare(tasks: 1, units: units)
    }
}
