import Foundation
import Synchronization

/// Keeps a `Progress` as it should be.
///
/// A `Progress` has no lock on Linux, and elsewhere its observers run within a change. So changes
/// are made one after the other, and under no lock.
final class ProgressMirror: Sendable {
    /// What the progress is to show.
    struct Values {
        /// The units of all the work; negative while unknown.
        var total: Int64
        /// The units of the work that is done.
        var completed: Int64
        /// The number of all files, and of those that are done, for a progress of several.
        var files: (total: Int, completed: Int)?
    }

    private struct State {
        var isStale = false
        var isChanging = false
    }

    let progress: Progress
    private let values: @Sendable () -> Values?
    private let state = Mutex(State())

    /// Creates a progress that shows what `values` returns, which is nil once nobody can know.
    init(of values: @escaping @Sendable () -> Values?) {
        progress = .discreteProgress(totalUnitCount: -1)
        self.values = values
        refresh()
    }

    /// Shows the values again, now or when the change that is being made has ended.
    func refresh() {
        let isFirst = state.withLock { state in
            state.isStale = true
            defer { state.isChanging = true }
            return !state.isChanging
        }
        guard isFirst else { return }
        while mustChange() { if let values = values() { show(values) } }
    }

    private func mustChange() -> Bool {
        state.withLock { state in
            state.isChanging = state.isStale
            state.isStale = false
            return state.isChanging
        }
    }

    private func show(_ values: Values) {
        if progress.totalUnitCount != values.total { progress.totalUnitCount = values.total }
        if progress.completedUnitCount != values.completed {
            progress.completedUnitCount = values.completed
        }
        guard let files = values.files else { return }
        progress.setUserInfoObject(files.total, forKey: .fileTotalCountKey)
        progress.setUserInfoObject(files.completed, forKey: .fileCompletedCountKey)
    }
}
