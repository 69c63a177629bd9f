package dashboards

const (
	fleetUID   = "sm-fleet-pressure"
	sessionUID = "sm-one-session"
)

// dashboard begins one with what all of ours have in common.
func dashboard(uid, title, description string, more []variable, panels ...Panel) Dashboard {
	return Dashboard{
		UID: uid, Title: title, Description: description, Tags: []string{"sm", "coding-agents"},
		SchemaVersion: schemaVersion, Version: 1, GraphTooltip: 1,
		Time: timeRange{"now-6h", "now"}, Refresh: "30s", Timezone: "browser",
		Templating: templating{append(variables(), more...)},
		Panels:     place(panels),
	}
}

// variables are those of every dashboard. All stands for whatever there is, also for what
// appears after the lists were made; host, project and model may be empty.
func variables() []variable {
	return []variable{
		{
			Name: "datasource", Label: "Data source", Description: "The Prometheus to ask.", Type: "datasource", Query: "prometheus",
			Refresh: 1, Options: []choice{},
		},
		values("host", "Host", "External label of the agent that scraped the observer; empty without one.", `label_values(sm_build_info, host)`, ".*"),
		values("job", "Job", "Scrape job of the observers.", `label_values(sm_build_info{host=~"$host"}, job)`, ".+"),
		values("instance", "Observer", "Address of the observer.", `label_values(sm_build_info{host=~"$host",job=~"$job"}, instance)`, ".+"),
		values("project", "Project", "Last element of the session's folder; empty where it is not told.", `label_values(agent_session_info{`+ofObservers+`}, project)`, ".*"),
		values("model", "Model", "The session's model.", `label_values(agent_session_info{`+ofObservers+`,project=~"$project"}, model)`, ".*"),
		// All stands for those of the chosen projects and models: the series themselves have neither label.
		values("session", "Session", "Name of the agent, or the beginning of its id.", `label_values(agent_session_info{`+ofObservers+`,project=~"$project",model=~"$model"}, session)`, ""),
	}
}

// values is a variable with the values that a label has.
func values(name, label, description, query, all string) variable {
	source := prometheus()
	return variable{
		Name: name, Label: label, Description: description, Type: "query", Datasource: &source,
		Query: variableQuery{1, query, "PrometheusVariableQueryEditor-VariableQuery"}, Definition: query,
		Refresh: 2, Sort: 1, Multi: true, IncludeAll: true, AllValue: all, Options: []choice{},
		Current: &choice{true, []string{"All"}, []string{"$__all"}},
	}
}

// list is a variable with values of our own; the first is chosen.
func list(name, label, description string, first string, more ...string) variable {
	v := variable{Name: name, Label: label, Description: description, Type: "custom", Query: first, Current: &choice{true, first, first}}
	v.Options = []choice{*v.Current}
	for _, value := range more {
		v.Query = v.Query.(string) + "," + value
		v.Options = append(v.Options, choice{false, value, value})
	}
	return v
}

// leads is a link to another dashboard, with the same choices and the same time.
func leads(uid, title string) link {
	return link{
		Title: title, Type: "link", URL: "/d/" + uid, Icon: "dashboard", Tooltip: title, Tags: []string{},
		AsDropdown: new(false), IncludeVars: new(true), KeepTime: new(true),
	}
}
