// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package hardware

import "fmt"

// answers are what a library said, in the order in which it was asked.
type answers struct {
	asked []string
	said  map[string]string
	// open are the questions that could not be put, with the reason.
	open []string
}

func newAnswers() answers { return answers{said: map[string]string{}} }

func (a *answers) note(question string, answer any) {
	if _, again := a.said[question]; !again {
		a.asked = append(a.asked, question)
	}
	a.said[question] = fmt.Sprint(answer)
}

func (a *answers) leave(format string, args ...any) {
	a.open = append(a.open, fmt.Sprintf(format, args...))
}

// unsaid stands for an answer to what only the other was asked.
const unsaid = "nothing"

// differences are the lines for what the hardware says otherwise than the
// simulator.
func differences(hardware, simulator answers) []string {
	var out []string
	for _, q := range hardware.asked {
		if got := simulator.answer(q); got != hardware.said[q] {
			out = append(out, difference(q, got, hardware.said[q]))
		}
	}
	for _, q := range simulator.asked {
		if _, both := hardware.said[q]; !both {
			out = append(out, difference(q, simulator.said[q], unsaid))
		}
	}
	return out
}

func (a answers) answer(question string) string {
	if s, ok := a.said[question]; ok {
		return s
	}
	return unsaid
}

func difference(question, simulator, hardware string) string {
	return fmt.Sprintf("%s: simulator says %s, hardware says %s", question, simulator, hardware)
}
