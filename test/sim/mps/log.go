// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package mps

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// logFile is control.log or server.log.
type logFile struct {
	f    *os.File
	name string // "Control" or "Server"
}

func openLog(dir, file, name string) (*logFile, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("making the log directory: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, file), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the log: %w", err)
	}
	return &logFile{f, name}, nil
}

// printf writes one line in one write. A log that cannot be written stops nothing.
func (l *logFile) printf(format string, v ...any) {
	head := fmt.Sprintf("[%s %s %5d] ", time.Now().Format("2006-01-02 15:04:05.000"), l.name, os.Getpid())
	_, _ = l.f.WriteString(head + fmt.Sprintf(format, v...) + "\n")
}
