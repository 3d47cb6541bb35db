import HTTPTypes
import Hummingbird
import Testing
import TransferModel
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

@Suite(.postgresSchema) struct ContractTests {
    @Test func everyRouteIsDescribedAndEveryDescriptionHasARoute() async throws {
        try await APIServer.run { server in
            let routes = server.api.router().routes.map(\.description)
            let described = try APIServer.document().operations.map(\.description)
            #expect(routes.sorted() == described.sorted())
        }
    }

    @Test func everyCodeIsDescribed() throws {
        let document = try APIServer.document()
        #expect(
            document.enumeration("Problem", "properties", "code")
                == ProblemDetails.Code.allCases.map(\.rawValue)
        )
        #expect(
            document.enumeration("Problem", "properties", "limit")
                == Quota.Limit.allCases.map(\.rawValue) + SharedLimit.allCases.map(\.rawValue)
        )
        #expect(
            document.enumeration("FieldError", "properties", "code")
                == FieldError.Code.allCases.map(\.rawValue)
        )
        #expect(
            document.enumeration("FailureCode") == TransferFailure.Code.allCases.map(\.rawValue)
        )
        #expect(document.enumeration("TaskState") == TransferState.allCases.map(\.rawValue))
        #expect(
            document.enumeration("DisablementReason")
                == Subscription.Disablement.Reason.allCases.map(\.rawValue)
        )
        #expect(document.enumeration("EventType") == SessionEvent.Kind.allCases.map(\.rawValue))
        #expect(
            document.enumeration("DeliveryState") == LoggedDelivery.State.allCases.map(\.rawValue)
        )
        let families = SessionEvent.Kind.allCases.map { kind in
            "\(kind.rawValue.prefix { $0 != "." }).*"
        }
        let terms = document.root["components"]?["schemas"]?["EventFilterTerm"]?["anyOf"]?.array
        #expect(
            Set((terms?.last?["enum"]?.array ?? []).compactMap(\.string)) == Set(families)
        )
        #expect(document.enumeration("DeliveryForm") == DeliveryForm.allCases.map(\.rawValue))
        #expect(
            document.enumeration("ReconnectionError")
                == ReconnectionError.allCases.map(\.rawValue)
        )
        #expect(
            document.enumeration("ClientLifecycle") == Client.Lifecycle.allCases.map(\.rawValue)
        )
        #expect(
            document.enumeration("RunEndReason")
                == BackgroundTaskRun.EndReason.allCases.map(\.rawValue)
        )
        #expect(document.enumeration("InstanceRole") == InstanceRole.allCases.map(\.rawValue))
        #expect(document.enumeration("SignalStatus") == SignalStatus.allCases.map(\.rawValue))
        #expect(document.enumeration("KeyScope") == KeyScope.allCases.map(\.rawValue))
        let webhooks = document.root["webhooks"]?.object ?? [:]
        let types =
            SessionEvent.Kind.allCases.map(\.rawValue)
            + [MessageBatch.type, TestMessage.type]
        #expect(webhooks.keys.sorted() == types.sorted())
    }

    /// A client's author reads there what an operation may refuse.
    @Test(arguments: [(404, "NotFound"), (409, "Conflict")])
    func theSharedResponsesNameAllTheirCodes(status: Int, response: String) throws {
        let shared = try APIServer.document().root["components"]?["responses"]?[response]
        let text = try #require(shared?["description"]?.string)
        for code in ProblemDetails.Code.allCases where code.status == status {
            #expect(text.contains("`\(code.rawValue)`"), "\(code.rawValue)")
        }
    }

    /// One who reads otherwise repeats a request at once, for ever.
    @Test(arguments: [
        ("put", "/v1/tasks/{id}/body"), ("post", "/v1/tasks/{id}/retry"),
        ("post", "/v1/background-tasks/runs/{id}/transfers"), ("post", "/v1/tenant/pause"),
        ("post", "/v1/sessions/{identifier}/tasks"),
    ])
    func operationsWithAQuotaDescribeIt(method: String, path: String) throws {
        let operation = try APIServer.document().root["paths"]?[path]?[method]
        #expect(
            operation?["responses"]?["429"]?["$ref"]?.string
                == "#/components/responses/QuotaExceeded"
        )
    }

    @Test func everyPathDescribesAWrongMethod() throws {
        let paths = try APIServer.document().root["paths"]?.object ?? [:]
        for (path, item) in paths {
            for (method, operation) in item.object ?? [:] where method != "parameters" {
                #expect(operation["responses"]?["405"] != nil, "\(method) \(path)")
            }
        }
        #expect(!paths.isEmpty)
    }

    @Test func examplesAreWhatTheirSchemasAllow() throws {
        let document = try APIServer.document()
        var described: [String] = []
        for item in (document.root["paths"]?.object ?? [:]).values {
            for operation in (item.object ?? [:]).values {
                let forms = operation["requestBody"]?["content"]?.object ?? [:]
                for form in forms.values {
                    guard let example = form["example"], let schema = form["schema"],
                        let name = operation["operationId"]?.string
                    else { continue }
                    described.append(name)
                    #expect(document.schema.violations(of: example, against: schema).isEmpty)
                }
            }
        }
        #expect(described.sorted() == ["createSubscription", "putSession", "submitTasks"])
    }

    @Test func onlyTheOperationsAreDescribedAsOpen() throws {
        let open = try APIServer.document().operations.filter { !$0.needsKey }.map(\.path)
        #expect(Set(open) == ProbeRoutes.paths.union(PageRoutes.paths))
    }

    /// A parameter that is misspelt, or given where there is none, is not ignored.
    @Test func operationsWithoutParametersRefuseAQuery() async throws {
        try await APIServer.run { server in
            let operations = try APIServer.document().operations
            let withQuery = operations.filter { !$0.queryParameters.isEmpty }
            let routes = server.api.router().routes.filter(\.hasQuery)
            #expect(Set(withQuery.map(\.description)) == Set(routes.map(\.description)))
            for operation in operations where operation.needsKey && !withQuery.contains(operation) {
                let path = operation.path.replacing(#/\{\w+\}/#, with: "x")
                let answer = try await server.send(operation.method, "\(path)?x=1")
                #expect(answer.status == 422, "\(operation)")
                #expect(answer.faults == ["x unknown_parameter"], "\(operation)")
                #expect(answer.text.contains("which has none."))
            }
            #expect(try await server.send("HEAD", "/v1/tenant?x=1").status == 422)
            // A name alone, and none at all.
            #expect(try await server.send("GET", "/v1/tenant?x").status == 422)
            #expect(try await server.send("GET", "/v1/tenant?").status == 200)
        }
    }

    @Test func theValidatorSeesWhatIsWrong() throws {
        let document = try APIServer.document()
        let good = #"{"status":"pass","reason":"x"}"#
        #expect(try document.violations(of: Array(good.utf8), schema: "Probe").isEmpty)
        for bad in [
            #"{"status":"well"}"#, #"{}"#, #"{"status":"pass","more":1}"#, #"{"status":1}"#, "[]",
        ] {
            #expect(try !document.violations(of: Array(bad.utf8), schema: "Probe").isEmpty)
        }
    }
}
