import Foundation
import Synchronization

/// The progress of all tasks of a session that this process follows or has followed.
final class SessionProgress: Sendable {
    private struct State {
        var sum = TaskShare()
        var mirror: ProgressMirror?
    }

    private let state = Mutex(State())

    /// Adds what has changed with a task; the order of such changes does not matter.
    func add(_ change: TaskShare) {
        guard change != TaskShare() else { return }
        let mirror = state.withLock { state in
            state.sum.tasks += change.tasks
            state.sum.ended += change.ended
            state.sum.units += change.units
            return state.mirror
        }
        mirror?.refresh()
    }

    /// The sum as Foundation shows it, made when it is first asked for.
    var progress: Progress {
        if let mirror = state.withLock(\.mirror) { return mirror.progress }
        let new = ProgressMirror { [weak self] in self?.values }
        let mirror = state.withLock { state in
            if state.mirror == nil { state.mirror = new }
            return state.mirror ?? new
        }
        // It may have missed a change on the way.
        mirror.refresh()
        return mirror.progress
    }

    private var values: ProgressMirror.Values {
        state.withLock { state in
            ProgressMirror.Values(
                total: Int64(state.sum.tasks) * TaskShare.unitsOfTask,
                completed: state.sum.units,
                files: (state.sum.tasks, state.sum.ended)
            )
        }
    }
}
