import TransferModel
import TransferSecrets

// What is sealed of a task is bound to it.
extension RowSealer.Place {
    static func url(of task: TaskID, of tenant: TenantID) -> RowSealer.Place {
        RowSealer.Place(.taskURL, of: tenant, in: task.uuid)
    }

    static func headers(of task: TaskID, of tenant: TenantID) -> RowSealer.Place {
        RowSealer.Place(.taskHeaders, of: tenant, in: task.uuid)
    }

    static func body(of task: TaskID, of tenant: TenantID) -> RowSealer.Place {
        RowSealer.Place(.taskBody, of: tenant, in: task.uuid)
    }
}
