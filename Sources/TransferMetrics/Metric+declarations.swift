extension Metric {
    /// What a metric is.
    struct Declaration {
        let kind: Kind
        let help: String
        let labels: [String]

        init(_ kind: Kind, _ help: String, labels: [String] = []) {
            self.kind = kind
            self.help = help
            self.labels = labels
        }
    }

    /// What the metric is.
    var declaration: Declaration {
        switch self {
        case .build:
            Declaration(
                .gauge,
                "1, labeled by the versions of transferd and libcurl.",
                labels: ["version", "libcurl"]
            )
        case .uptime: Declaration(.gauge, "Time since the instance started.")
        case .databaseUp: Declaration(.gauge, "Whether the database answers this instance.")
        case .clockDifference:
            Declaration(
                .gauge,
                "How far this instance's clock is ahead of the database's; negative if behind."
            )
        case .shortages:
            Declaration(
                .gauge,
                "Whether this instance is short of a resource: it begins no task for that, or some "
                    + "of its tasks cannot go on.",
                labels: ["resource"]
            )
        case .attempts:
            Declaration(
                .counter,
                "Attempts that have ended here, by outcome and by the code of their failure.",
                labels: ["outcome", "code"]
            )
        case .attemptDuration:
            Declaration(
                .histogram,
                "Duration of the last request of an attempt that has ended here."
            )
        case .attemptBytes:
            Declaration(
                .counter,
                "Bytes of bodies that the last requests of ended attempts have moved.",
                labels: ["direction"]
            )
        case .attemptsRunning: Declaration(.gauge, "Attempts that have a slot of this instance.")
        case .deliveries:
            Declaration(
                .counter,
                "Tries to deliver a webhook message from here, by outcome.",
                labels: ["outcome"]
            )
        case .deliveryDuration:
            Declaration(.histogram, "Duration of tries to deliver a webhook message from here.")
        case .requests:
            Declaration(
                .counter,
                "Requests that this instance has answered.",
                labels: ["method", "route", "status"]
            )
        case .requestDuration:
            Declaration(
                .histogram,
                "Time to the head of an answer; long waits and streams are left out."
            )
        case .connections: Declaration(.gauge, "Connections of clients to this instance.")
        case .poolConnections:
            Declaration(
                .gauge,
                "Connections to the database that serve this instance's statements.",
                labels: ["state"]
            )
        case .poolWaiters:
            Declaration(.gauge, "Statements that wait for a connection to the database.")
        case .tasks:
            Declaration(
                .gauge,
                "Tasks that are kept, by state, a second or two old. The same on every instance.",
                labels: ["state"]
            )
        case .deliveriesDue:
            Declaration(
                .gauge,
                "Sessions with events that a subscription is to get now, at most 10,000. "
                    + "The same on every instance."
            )
        case .deliveryLag:
            Declaration(
                .gauge,
                "Time since the oldest of these became due. The same on every instance."
            )
        case .timerLag:
            Declaration(
                .gauge,
                "Time since the oldest moment that has passed for a client or a background task "
                    + "and that no worker has looked at. The same on every instance."
            )
        case .failingSubscriptions:
            Declaration(
                .gauge,
                "Subscriptions whose last message was not taken, at most 10,000. The same "
                    + "on every instance."
            )
        case .workers:
            Declaration(
                .gauge,
                "Instances with the role worker or webhooks that are alive. The same on every "
                    + "instance."
            )
        case .bytesFree:
            Declaration(.gauge, "Space of the containers' file system that is left to the service.")
        case .bytesTotal: Declaration(.gauge, "Size of the containers' file system.")
        case .residentMemory: Declaration(.gauge, "Resident memory size in bytes.")
        case .openDescriptors: Declaration(.gauge, "Number of open file descriptors.")
        case .processorTime:
            Declaration(.counter, "Total user and system CPU time spent in seconds.")
        case .startTime:
            Declaration(.gauge, "Start time of the process since unix epoch in seconds.")
        }
    }
}
