package filestore
