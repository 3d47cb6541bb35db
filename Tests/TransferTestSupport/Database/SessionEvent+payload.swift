package import TransferModel

/// What events of one kind say; nil for other events.
extension SessionEvent {
    package var pendingTasks: PendingTasks? {
        if case .pending(let tasks) = payload { tasks } else { nil }
    }

    package var disabledSubscription: DisabledSubscription? {
        if case .subscriptionDisabled(let subscription) = payload { subscription } else { nil }
    }

    package var expiredEvents: ExpiredEvents? {
        if case .eventsExpired(let events) = payload { events } else { nil }
    }
}
