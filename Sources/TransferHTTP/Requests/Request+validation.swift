import Foundation
import TransferModel
import TransferWire

extension TaskRequest {
    /// Returns the submission that this request asks for, with the key of its host from `hosts`.
    ///
    /// - Returns: nil when something is wrong with it, which is then in `errors`.
    func submission(
        id: TaskID,
        hosts: inout HostKeys,
        into errors: inout [FieldError]
    ) -> TaskSubmission? {
        let errorsBefore = errors.count
        let target = target.address(at: "", into: &errors)
        var headers = HeaderRules.validate(headers ?? [:], at: "/headers", into: &errors)
        let clientString = FieldRules.clientString(clientPersistedString, into: &errors)
        let priority = FieldRules.priority(priority, into: &errors)
        let place = destination.map {
            Destination(path: $0.path, overwrite: $0.overwrite ?? false)
        }
        if case .some(.none) = place {
            errors.append(
                FieldError(
                    pointer: "/destination/path",
                    .invalidDestination,
                    Destination.pathRule
                )
            )
        }
        let token = resumeData.map { text in
            text.utf8.count == 36 ? UUID(uuidString: text).map(ResumeDataID.init) : nil
        }
        if case .some(.none) = token {
            errors.append(
                FieldError(
                    pointer: "/resume_data",
                    .invalidValue,
                    "Must be what the cancellation of a task has answered."
                )
            )
        }
        let options = TransferOptions(options, isTask: true, at: "", into: &errors)
        for (index, mirror) in (options.mirrors ?? []).enumerated() where WebURL(mirror) == nil {
            let fault = URLRule.fault(of: mirror)
            errors.append(FieldError(pointer: "/mirrors/\(index)", .invalidURL, fault))
        }
        let (request, type) = transferRequest(with: options, into: &errors)
        addContentType(type, to: &headers, into: &errors)
        guard errors.count == errorsBefore, let target else { return nil }
        return TaskSubmission(
            id: id,
            url: target.text,
            hostKey: hosts.key(of: target.url),
            headers: headers,
            clientString: clientString,
            earliestBeginAt: earliestBeginAt?.date,
            autostart: autostart ?? true,
            destination: place ?? nil,
            priority: priority ?? .default,
            resumeData: token ?? nil,
            options: options,
            request: request
        )
    }

    /// Adds the type of the body unless the task names another, which one with a boundary forbids.
    private func addContentType(
        _ type: String?,
        to headers: inout [HTTPHeader],
        into errors: inout [FieldError]
    ) {
        guard let type else { return }
        let own = headers.first { $0.name.lowercased() == "content-type" }
        if let own, (body ?? upload?.body)?.multipart != nil {
            errors.append(
                FieldError(
                    pointer: "/headers/\(own.name)",
                    .invalidValue,
                    "Must not go with `multipart`, whose type names the boundary."
                )
            )
        } else if own == nil {
            headers.append(HTTPHeader(name: "Content-Type", value: type))
        }
    }
}

extension TaskRequest.Target {
    /// Returns the address of the task, as text and parsed.
    func address(
        at pointer: String,
        into errors: inout [FieldError]
    ) -> (text: String, url: WebURL)? {
        switch self {
        case .url(let text):
            if let url = WebURL(text) { return (text, url) }
            let fault = URLRule.fault(of: text)
            errors.append(FieldError(pointer: "\(pointer)/url", .invalidURL, fault))
            return nil
        case .components(let components):
            return components.address(at: "\(pointer)/components", into: &errors)
        }
    }
}

extension SessionRequest {
    /// Returns the kind that the request asks for, or nil when it names none.
    func sessionKind() throws(Problem) -> Session.Kind? {
        guard let kind else { return nil }
        guard let known = Session.Kind(word: kind) else {
            throw Problem([
                FieldError(pointer: "/kind", .invalidValue, "Must be `background` or `ephemeral`.")
            ])
        }
        return known
    }
}

extension SessionConfigurationRequest {
    /// Returns the configuration, with defaults for what is absent.
    func configuration() throws(Problem) -> SessionConfiguration {
        let pointer = "/configuration"
        var errors: [FieldError] = []
        var options = TransferOptions(options, at: pointer, into: &errors)
        var configuration = SessionConfiguration()
        configuration.timeoutForRequest =
            options.timeoutForRequest ?? configuration.timeoutForRequest
        configuration.timeoutForResource =
            options.timeoutForResource ?? configuration.timeoutForResource
        options.timeoutForRequest = nil
        options.timeoutForResource = nil
        configuration.options = options
        configuration.totalBytesPerSecondMax = RangeCheck.bytesPerSecond(
            totalBytesPerSecondMax,
            "total_bytes_per_second_max",
            at: pointer,
            into: &errors
        )
        if let container = sharedContainerIdentifier, ClientID(container) == nil {
            errors.append(
                FieldError(
                    pointer: "\(pointer)/shared_container_identifier",
                    .invalidIdentifier,
                    ClientRule.name
                )
            )
        }
        configuration.sharedContainerIdentifier = sharedContainerIdentifier
        var check = RangeCheck(pointer: pointer)
        configuration.resultRetention = check.seconds(
            resultRetention,
            SessionConfiguration.resultRetentionSeconds,
            "result_retention"
        )
        configuration.maxConnectionsPerHost = check.number(
            maxConnectionsPerHost,
            SessionConfiguration.maxConnectionsPerHostRange,
            "max_connections_per_host"
        )
        configuration.isDiscretionary = isDiscretionary ?? false
        errors += check.errors
        configuration.additionalHeaders = HeaderRules.validate(
            additionalHeaders ?? [:],
            at: "\(pointer)/additional_headers",
            into: &errors
        )
        guard errors.isEmpty else { throw Problem(errors) }
        return configuration
    }
}

extension TaskPatchRequest {
    /// Returns the change that this request asks for.
    func change() throws(Problem) -> TaskChange {
        var errors: [FieldError] = []
        var change = TaskChange()
        if let clientPersistedString {
            change.clientString = .some(
                FieldRules.clientString(clientPersistedString, into: &errors)
            )
        }
        if let earliestBeginAt { change.earliestBeginAt = .some(earliestBeginAt?.date) }
        if let priority {
            change.priority =
                priority == nil
                ? .default : FieldRules.priority(priority, into: &errors)
        }
        if let credential {
            if let name = credential, !Credential.isName(name) {
                errors.append(
                    FieldError(pointer: "/credential", .invalidValue, Credential.nameRule)
                )
            }
            change.credential = .some(credential)
        }
        if let bytesPerSecondMax {
            change.bytesPerSecondMax = .some(
                RangeCheck.bytesPerSecond(
                    bytesPerSecondMax,
                    "bytes_per_second_max",
                    at: "",
                    into: &errors
                )
            )
        }
        guard errors.isEmpty else { throw Problem(errors) }
        return change
    }
}

/// Rules for fields that several requests have; what is wrong is added to `errors`.
private enum FieldRules {
    static func clientString(
        _ text: String?,
        into errors: inout [FieldError]
    ) -> ClientString? {
        guard let text else { return nil }
        guard let clientString = ClientString(text) else {
            errors.append(
                FieldError(
                    pointer: "/client_persisted_string",
                    .clientStringTooLong,
                    "May have at most \(ClientString.bytesMax) bytes of UTF-8."
                )
            )
            return nil
        }
        return clientString
    }

    static func priority(
        _ value: Double?,
        into errors: inout [FieldError]
    ) -> TaskPriority? {
        guard let value else { return nil }
        guard let priority = TaskPriority(value) else {
            errors.append(
                FieldError(pointer: "/priority", .invalidValue, "Must be from 0 to 1.")
            )
            return nil
        }
        return priority
    }
}
